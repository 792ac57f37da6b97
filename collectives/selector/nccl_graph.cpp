// SPDX-License-Identifier: MIT
/// Figures: NCCL v2.30, src/graph/topo.h, topo.cc and search.cc. The search is our own and shorter:
/// like NCCL's it takes, for one speed after another, as many rings as fit on the links, and keeps
/// the speed at which they carry most together. Real machines may differ: NCCL's search gives up
/// after a number of steps.
#include "ringside/collectives/selector/nccl_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/topology/model/identify.hpp"
#include "ringside/topology/model/link_rates.hpp"
#include "ringside/topology/model/routes.hpp"
#include "ringside/topology/path.hpp"

namespace ringside {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

constexpr double local_bandwidth = 5000;  // GB/s inside a node of the tree
constexpr double default_nic = 12;        // GB/s, where none is told
constexpr double intel_overhead = 1.2;    // a root complex of Intel's sends packets of 64 bytes
constexpr int most_channels = 32;
constexpr int most_nvls_heads = 32;

std::optional<std::int64_t> number_in(const Node& node, const std::string& name) {
  const auto found = node.details.find(name);
  return found == node.details.end() ? std::nullopt : parse_int(found->second);
}

std::string text_in(const Node& node, const std::string& name) {
  const auto found = node.details.find(name);
  return found == node.details.end() ? std::string() : found->second;
}

double nvlink_bandwidth(int compute_capability) {
  if (compute_capability >= 100) return 40.1;
  if (compute_capability >= 90) return 20.6;
  if (compute_capability == 86) return 12;
  if (compute_capability >= 70 || compute_capability < 60) return 20;
  return 18;
}

/// What no input tells is taken as everywhere in the twin, so that the two can be compared.
double pcie_bandwidth(const Machine& machine, LinkId id) {
  constexpr std::array per_lane = {15.0, 30.0, 60.0, 120.0, 240.0, 480.0};
  static_assert(per_lane.size() == most_pcie_generation);
  const int generation = std::clamp(pcie_generation_of(machine.topology(), machine.model(), id), 1,
                                    most_pcie_generation);
  const int width = machine.topology().link(id).width.value_or(full_pcie_width);
  return width * per_lane.at(at(generation - 1)) / 80;
}

double socket_bandwidth(const Node& processor) {
  const std::string vendor = text_in(processor, "vendor");
  const std::string arch = text_in(processor, "arch");
  if (arch == "ppc64") return 32;
  if (arch == "arm64") return 6;
  if (vendor == "AuthenticAMD") return 16;
  if (vendor.find("Shanghai") != std::string::npos) return 6;
  const auto family = number_in(processor, "familyid");
  const auto model = number_in(processor, "modelid");
  if (vendor != "GenuineIntel" || family != 6 || !model) return 10;
  if (*model >= 0xcf) return 40;  // Emerald Rapids
  if (*model >= 0x8f) return 22;  // Sapphire Rapids
  if (*model >= 0x55) return 10;  // Skylake
  return 6;                       // Broadwell
}

NcclProcessor maker_of_processor(const Topology& topology) {
  for (const NodeId id : topology.of_kind(NodeKind::numa_node)) {
    const std::string vendor = text_in(topology.node(id), "vendor");
    if (vendor == "GenuineIntel") return NcclProcessor::intel;
    if (vendor == "AuthenticAMD") return NcclProcessor::amd;
  }
  return NcclProcessor::other;
}

/// NCCL's figure for one direction of a link, GB/s; `compute_capability` times 10 counts for
/// NVLink.
double link_bandwidth(const Machine& machine, LinkId id, int compute_capability) {
  const Topology& topology = machine.topology();
  const Link& link = topology.link(id);
  switch (link.kind) {
    case LinkKind::pcie:
      return pcie_bandwidth(machine, id);
    case LinkKind::socket:
      return socket_bandwidth(topology.node(link.from));
    case LinkKind::nvlink:
    case LinkKind::xgmi:
      return nvlink_bandwidth(compute_capability) * link.count.value_or(1);
    case LinkKind::network:
      return link.bandwidth.value_or(default_nic);
    case LinkKind::internal:
    case LinkKind::c2c:
      break;
  }
  return local_bandwidth;
}

/// Speeds that the search tries, GB/s a channel.
std::span<const double> speeds(int compute_capability, bool several_boxes) {
  static constexpr std::array intra = {40., 30., 20., 18., 15., 12., 10., 9., 7., 6., 5., 4., 3.};
  static constexpr std::array intra_90 = {60., 50., 40., 30., 24., 20., 15., 12., 11., 6., 3.};
  static constexpr std::array intra_100 = {90., 80., 70., 60., 50., 45.,
                                           40., 30., 24., 20., 19., 18.};
  static constexpr std::array inter = {48., 30., 28., 24., 20., 18., 15., 12.,  10., 9.,
                                       7.,  6.,  5.,  4.,  3.,  2.4, 1.2, 0.24, 0.12};
  static constexpr std::array inter_90 = {48., 45., 42., 40., 30., 24., 22.,  20., 17.5,
                                          15., 12., 6.,  3.,  2.4, 1.2, 0.24, 0.12};
  static constexpr std::array inter_100 = {96.,  48., 45.1, 42., 40., 30., 24., 22.,  20.,
                                           17.5, 15., 12.,  6.,  3.,  2.4, 1.2, 0.24, 0.12};
  if (compute_capability >= 100)
    return several_boxes ? std::span<const double>(inter_100) : std::span<const double>(intra_100);
  if (compute_capability >= 90)
    return several_boxes ? std::span<const double>(inter_90) : std::span<const double>(intra_90);
  return several_boxes ? std::span<const double>(inter) : std::span<const double>(intra);
}

/// From one GPU of the box to another.
struct Hop {
  Route route;
  bool exists = false;
  bool nvlink = false;
  double pcie_factor = 1;  ///< what a byte takes of PCIe links
};

/// GPUs of a box and what is between them.
struct BoxView {
  std::vector<NodeId> gpus;
  std::vector<Hop> hops;         ///< [from x gpus + to]
  std::vector<double> capacity;  ///< [link], GB/s

  [[nodiscard]] int size() const { return static_cast<int>(gpus.size()); }
  [[nodiscard]] const Hop& hop(int from, int to) const {
    return hops[at(from) * gpus.size() + at(to)];
  }
};

/// Looks at the GPUs of a box.
class BoxViewer {
 public:
  BoxViewer(const Machine& machine, const NcclMachine& seen)
      : machine_(machine), seen_(seen), topology_(machine.topology()), routes_(topology_) {}

  BoxView view(std::vector<NodeId> gpus) {
    BoxView box;
    box.gpus = std::move(gpus);
    for (const NodeId from : box.gpus)
      for (const NodeId to : box.gpus)
        box.hops.push_back(from == to ? Hop{}
                           : machine_.through_host(index_of(from), index_of(to))
                               ? over_host(from, to)
                               : directly(from, to));
    for (LinkId link = 0; at(link) < topology_.links().size(); ++link)
      box.capacity.push_back(link_bandwidth(machine_, link, seen_.compute_capability));
    return box;
  }

 private:
  [[nodiscard]] int index_of(NodeId gpu) const {
    return static_cast<int>(std::ranges::find(gpus_, gpu) - gpus_.begin());
  }

  [[nodiscard]] double pcie_factor(LinkClass distance) const {
    const bool is_toll = distance == LinkClass::phb && seen_.processor == NcclProcessor::intel;
    return is_toll ? intel_overhead : 1;
  }

  [[nodiscard]] Hop directly(NodeId from, NodeId to) const {
    Hop hop;
    const auto found = route(topology_, from, to);
    if (!found) return hop;
    hop.route = *found;
    hop.exists = true;
    const LinkClass distance = link_class(topology_, from, to).value;
    hop.nvlink = distance == LinkClass::nvlink || distance == LinkClass::xgmi;
    hop.pcie_factor = pcie_factor(distance);
    return hop;
  }

  /// Up to the processor and down again, also for neighbours on a switch (addInterStep in
  /// paths.cc).
  [[nodiscard]] Hop over_host(NodeId from, NodeId to) const {
    const NodeId here = routes_.host_of(from), there = routes_.host_of(to);
    Hop hop;
    hop.exists = true;
    hop.route = routes_.to_host(from);
    const Route across = routes_.between_hosts(here, there);
    hop.route.insert(hop.route.end(), across.begin(), across.end());
    Route down = routes_.to_host(to);
    for (auto link = down.rbegin(); link != down.rend(); ++link)
      hop.route.push_back(Topology::reverse(*link));
    hop.pcie_factor = pcie_factor(here == there ? LinkClass::phb : LinkClass::sys);
    return hop;
  }

  const Machine& machine_;
  const NcclMachine& seen_;
  const Topology& topology_;
  Routes routes_;
  std::vector<NodeId> gpus_ = topology_.gpus();
};

/// Finds as many rings of one speed as the links carry, up to a number and a number of steps.
class RingSearch {
 public:
  RingSearch(const Topology& topology, const BoxView& box, double speed, bool nvlink_only, int most)
      : topology_(topology),
        box_(box),
        speed_(speed),
        nvlink_only_(nvlink_only),
        most_(most),
        left_(box.capacity) {}

  int rings() {
    begin_ring(0);
    return best_;
  }

 private:
  static constexpr int most_steps = 1 << 14;

  double taken(const Hop& hop, LinkId link) const {
    return topology_.link(link).kind == LinkKind::pcie ? speed_ * hop.pcie_factor : speed_;
  }

  double room(const Hop& hop) const {
    double least = std::numeric_limits<double>::infinity();
    for (const LinkId link : hop.route) least = std::min(least, left_[at(link)]);
    return least;
  }

  bool fits(const Hop& hop) const {
    constexpr double rounding = 1e-6;
    return hop.exists && (hop.nvlink || !nvlink_only_) &&
           std::all_of(hop.route.begin(), hop.route.end(),
                       [&](LinkId link) { return left_[at(link)] >= taken(hop, link) - rounding; });
  }

  void take(const Hop& hop, double sign) {
    for (const LinkId link : hop.route) left_[at(link)] -= sign * taken(hop, link);
  }

  void begin_ring(int found) {
    best_ = std::max(best_, found);
    if (best_ == most_) return;
    std::vector<bool> visited(box_.gpus.size());
    visited[0] = true;
    extend(found, 0, 1, visited);
  }

  /// Near GPUs first, among these the ones with most room, among these the next in number.
  std::vector<int> next_gpus(int current, const std::vector<bool>& visited) const {
    std::vector<std::tuple<std::size_t, double, int, int>> ranked;
    for (int gpu = 0; gpu < box_.size(); ++gpu) {
      const Hop& hop = box_.hop(current, gpu);
      if (visited[at(gpu)] || !fits(hop)) continue;
      ranked.emplace_back(hop.route.size(), -room(hop), (gpu - current + box_.size()) % box_.size(),
                          gpu);
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<int> order;
    for (const auto& entry : ranked) order.push_back(std::get<3>(entry));
    return order;
  }

  void extend(int found, int current, int length, std::vector<bool>& visited) {
    if (++steps_ > most_steps) return;
    if (length == box_.size()) {
      const Hop& back = box_.hop(current, 0);
      if (!fits(back)) return;
      take(back, 1);
      begin_ring(found + 1);
      take(back, -1);
      return;
    }
    for (const int gpu : next_gpus(current, visited)) {
      const Hop& hop = box_.hop(current, gpu);
      take(hop, 1);
      visited[at(gpu)] = true;
      extend(found, gpu, length + 1, visited);
      visited[at(gpu)] = false;
      take(hop, -1);
      if (best_ == most_ || steps_ > most_steps) return;
    }
  }

  const Topology& topology_;
  const BoxView& box_;
  double speed_;
  bool nvlink_only_;
  int most_;
  std::vector<double> left_;
  int best_ = 0;
  int steps_ = 0;
};

/// What a GPU can send and receive: its NVLinks together, else its PCIe link; the most of all GPUs.
double port_of(const Topology& topology, const BoxView& box, bool nvlink) {
  double most = 0;
  for (const NodeId gpu : box.gpus) {
    double sum = 0;
    for (const LinkId link : topology.links_from(gpu)) {
      const LinkKind kind = topology.link(link).kind;
      const bool fast = kind == LinkKind::nvlink || kind == LinkKind::xgmi;
      if (fast == nvlink && kind != LinkKind::c2c) sum += box.capacity[at(link)];
    }
    most = std::max(most, sum);
  }
  return most;
}

/// Channels of half the speed side by side, where few fast ones were found.
NcclChannels doubled(NcclChannels channels, int compute_capability) {
  constexpr double slow = 25;
  constexpr double slow_later = 50;
  if (channels.intra < slow) return channels;
  if (compute_capability > 80 && channels.intra < slow_later && channels.count > 4) return channels;
  const int count = std::min(2 * channels.count, most_channels);
  const int parts = (count + channels.count - 1) / channels.count;
  return {count, channels.intra / parts, channels.inter / parts};
}

NcclChannels rings_in_box(const Topology& topology, const BoxView& box, bool nvlink,
                          int compute_capability) {
  constexpr double least_part = 0.49;  // slower than that is not tried once a ring was found
  const double port = port_of(topology, box, nvlink);
  NcclChannels best;
  for (const double speed : speeds(compute_capability, false)) {
    if (speed > port) continue;
    if (speed <= least_part * best.intra) break;
    const int most = std::min(most_channels, static_cast<int>(port / speed + 1e-6));
    const int count = RingSearch(topology, box, speed, nvlink, most).rings();
    if (count * speed > best.count * best.intra) best = {count, speed, 0};
    if (best.count * best.intra >= port) break;
  }
  return best;
}

/// The speed of the slowest NIC of a box, GB/s, and how many there are.
std::pair<double, int> nics_of(const Machine& machine, int box_number) {
  const Topology& topology = machine.topology();
  constexpr double megabits_per_gigabyte = 8000;
  double slowest = std::numeric_limits<double>::infinity();
  int count = 0;
  for (const NodeId nic : topology.nics()) {
    if (topology.node(nic).box != box_number) continue;
    ++count;
    double speed = default_nic;  // 100 Gb/s: NCCL's figure where none is told
    if (const auto megabits = number_in(topology.node(nic), "net0.speed"))
      speed = static_cast<double>(*megabits) / megabits_per_gigabyte;
    if (const auto up = topology.link_up(nic))
      speed = std::min(speed, pcie_bandwidth(machine, *up));
    slowest = std::min(slowest, speed);
  }
  return {slowest, count};
}

/// A channel for each NIC, as fast as it is, as far as the rings inside a box can follow.
void connect_boxes(const Machine& known, const BoxView& box, NcclMachine& machine) {
  const auto [nic, count] = nics_of(known, known.topology().node(box.gpus.front()).box);
  if (count == 0)
    throw Error(ErrorCode::unsupported, "NCCL's model: the boxes have no NICs that are known");
  const double inside = machine.ring.count * machine.ring.intra;
  const auto fastest = [&](double limit) {
    const auto list = speeds(machine.compute_capability, true);
    const auto found =
        std::find_if(list.begin(), list.end(), [&](double speed) { return speed <= limit + 1e-6; });
    return found == list.end() ? list.back() : *found;
  };
  const double speed = fastest(std::min(nic, inside / count));
  // Inside a box a tree's channel may be twice as fast: it enters and leaves at different GPUs.
  const double tree_inside = fastest(std::min(2 * speed, inside / count));
  machine.ring = doubled({count, speed, speed}, machine.compute_capability);
  machine.tree = doubled({count, tree_inside, speed}, machine.compute_capability);
  if (machine.nvls.count > 0) machine.nvls.inter = speed * count / machine.nvls.count;
}

/// A channel for each GPU that the switch multicasts and reduces for: from Hopper on.
NcclChannels nvls_channels(const Topology& topology, const BoxView& box, int compute_capability) {
  if (compute_capability < 90 || topology.of_kind(NodeKind::nvswitch).empty()) return {};
  const int heads = std::min(box.size(), most_nvls_heads);
  const double port = port_of(topology, box, true);
  for (const double speed : speeds(compute_capability, false))
    if (heads * speed <= port) return {heads, speed, 0};
  return {heads, port / heads, 0};
}

/// By the GPU, else by its NVLinks as the twin takes them.
std::optional<int> capability_of(const Topology& topology, NodeId gpu) {
  if (const auto told = compute_capability(topology.node(gpu))) return told;
  constexpr std::array by_nvlink = {
      std::pair("nvlink1", 60), std::pair("nvlink2", 70),  std::pair("nvlink3", 80),
      std::pair("nvlink4", 90), std::pair("nvlink5", 100),
  };
  for (const LinkId id : topology.links_from(gpu)) {
    if (topology.link(id).kind != LinkKind::nvlink) continue;
    const auto kind = nvlink_kind_of(topology, topology.link(id));
    for (const auto& [name, capability] : by_nvlink)
      if (kind == name) return capability;
  }
  return std::nullopt;
}

void find_capabilities(const Topology& topology, NcclMachine& machine) {
  constexpr int unknown = 80;
  int least = std::numeric_limits<int>::max();
  int most = 0;
  for (const NodeId gpu : topology.gpus()) {
    const auto told = capability_of(topology, gpu);
    const int capability = told.value_or(unknown);
    if (!told && machine.assumptions.empty())
      machine.assumptions.emplace_back("the GPUs' compute capability is not known: taken as 8.0");
    least = std::min(least, capability);
    most = std::max(most, capability);
  }
  machine.compute_capability = least;
  machine.same_capability = least == most || least >= 90;
}

void note_assumptions(const Topology& topology, const BoxView& box, NcclMachine& machine) {
  const auto uses = [&](auto&& test) {
    return std::any_of(box.hops.begin(), box.hops.end(), [&](const Hop& hop) {
      return std::any_of(hop.route.begin(), hop.route.end(),
                         [&](LinkId link) { return test(topology.link(link)); });
    });
  };
  if (uses([](const Link& link) { return link.kind == LinkKind::socket; }) &&
      machine.processor == NcclProcessor::other)
    machine.assumptions.emplace_back(
        "the processor is not known: its socket link is taken as Intel's from Skylake on, 10 GB/s");
}

std::vector<NodeId> gpus_of_first_box(const Topology& topology, const std::vector<NodeId>& gpus) {
  const bool one_fabric =
      link_class(topology, gpus.front(), gpus.back()).value == LinkClass::nvlink;
  if (one_fabric) return gpus;
  std::vector<NodeId> first;
  for (const NodeId gpu : gpus)
    if (topology.node(gpu).box == topology.node(gpus.front()).box) first.push_back(gpu);
  return first;
}

}  // namespace

NcclMachine nccl_machine(const Machine& known) {
  const Topology& topology = known.topology();
  NcclMachine machine;
  const auto gpus = topology.gpus();
  machine.ranks = static_cast<int>(gpus.size());
  if (machine.ranks < 2)
    throw Error(ErrorCode::unsupported, "NCCL's model needs at least two GPUs");
  find_capabilities(topology, machine);
  machine.processor = maker_of_processor(topology);
  const BoxView box = BoxViewer(known, machine).view(gpus_of_first_box(topology, gpus));
  machine.boxes = std::max(1, machine.ranks / box.size());
  note_assumptions(topology, box, machine);
  if (box.size() > 1) {
    machine.ring = rings_in_box(topology, box, true, machine.compute_capability);
    machine.nvlink = machine.ring.count > 0;
    if (!machine.nvlink)
      machine.ring = rings_in_box(topology, box, false, machine.compute_capability);
    if (machine.ring.count == 0)
      throw Error(ErrorCode::unsupported, "NCCL's model: no ring connects all GPUs of a box");
    machine.nvls = nvls_channels(topology, box, machine.compute_capability);
  } else {
    machine.ring = {most_channels, local_bandwidth, 0};
  }
  if (machine.boxes > 1) {
    connect_boxes(known, box, machine);
  } else {
    machine.ring = doubled(machine.ring, machine.compute_capability);
    machine.tree = machine.ring;  // a chain inside a box
  }
  return machine;
}

}  // namespace ringside
