// SPDX-License-Identifier: MIT
#include "ringside/topology/build/annotate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/topology/build/from_xml.hpp"

namespace ringside {
namespace {

[[noreturn]] void fail_as_different(const std::string& why) {
  throw Error(ErrorCode::bad_input, "the inputs are of different machines: " + why);
}

/// The GPU of that number in the first box.
std::optional<NodeId> gpu_numbered(const Topology& topology, int number) {
  for (const NodeId id : topology.gpus())
    if (topology.node(id).number == number) return id;
  return std::nullopt;
}

std::optional<int> lanes(std::string_view width) {
  if (width.starts_with('x')) width.remove_prefix(1);
  const auto number = parse_int(width, 1, 64);
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

/// Sets both directions.
template <class Member, class Value>
void set(Topology& topology, LinkId link, Member member, const std::optional<Value>& value) {
  if (!value) return;
  topology.link(link).*member = value;
  topology.link(Topology::reverse(link)).*member = value;
}

/// A list of some GPUs by their addresses says nothing against a machine whose addresses are not
/// known.
bool may_be_of(const Topology& topology, std::size_t listed) {
  const auto gpus = topology.gpus();
  return listed < gpus.size() &&
         std::ranges::any_of(gpus, [&](NodeId gpu) { return !topology.node(gpu).address; });
}

/// By index, by bus id, or by its place in a list that has all GPUs. Nothing where the list is a
/// part, and no address tells of which GPUs.
std::optional<NodeId> gpu_of(const PcieStatus& status, std::size_t place, std::size_t listed,
                             const Topology& topology) {
  const auto gpus = topology.gpus();
  if (status.index)
    if (const auto gpu = gpu_numbered(topology, *status.index)) return *gpu;
  if (const auto address = parse_pci_address(status.bus_id))
    if (const auto node = topology.find(*address)) return *node;
  if (!status.index && listed == gpus.size()) return gpus[place];
  if (!status.index && may_be_of(topology, listed)) return std::nullopt;
  fail_as_different(fmt::format("there is no GPU {}", status.index ? std::to_string(*status.index)
                                                      : status.bus_id.empty() ? "?"
                                                                              : status.bus_id));
}

/// Matrices of other times, other drivers: which holds nobody can tell.
void check_same(const PeerAccess& access, const Topology& topology) {
  const auto is_of_same = [&](const PeerAccess& known) {
    if (known.capability == access.capability) return true;
    const auto& told = known.capability.empty() ? access.capability : known.capability;
    return (known.capability.empty() || access.capability.empty()) && told != "n" && told != "a";
  };
  for (const auto& known : topology.peer_access)
    if (known.from == access.from && known.to == access.to && known.status != access.status &&
        is_of_same(known))
      throw Error(
          ErrorCode::bad_input,
          fmt::format("the inputs contradict each other: peer access from {} to {} is {} in "
                      "one and {} in another",
                      topology.node(access.from).name, topology.node(access.to).name, known.status,
                      access.status));
}

/// A NUMA node that is not told is a different one.
bool in_different_nodes(const RocmTopology& rocm, std::size_t i, std::size_t j) {
  const auto first = rocm.numa_node.find(rocm.names[i]),
             second = rocm.numa_node.find(rocm.names[j]);
  return first == rocm.numa_node.end() || second == rocm.numa_node.end() ||
         first->second != second->second;
}

/// "50000-200000" MB/s -> 200 GB/s; nothing for "0-0" and "".
std::optional<double> most_of_range(std::string_view text) {
  const auto dash = text.rfind('-');
  const auto most =
      dash == std::string_view::npos ? std::nullopt : parse_int(text.substr(dash + 1), 1, 1 << 30);
  return most ? std::optional(static_cast<double>(*most) / 1000) : std::nullopt;
}

}  // namespace

void add_peer_access(const PeerMatrix& matrix, Topology& topology) {
  for (std::size_t i = 0; i < matrix.names.size(); ++i) {
    const auto from = topology.find(matrix.names[i]);
    if (!from) fail_as_different(fmt::format("{} is in the peer matrix only", matrix.names[i]));
    for (std::size_t j = 0; j < matrix.names.size(); ++j) {
      const auto to = topology.find(matrix.names[j]);
      const auto& status = matrix.cell(i, j);
      if (i == j || !to || status.empty()) continue;
      const PeerAccess access{
          .from = *from, .to = *to, .capability = matrix.capability, .status = status};
      check_same(access, topology);
      if (std::ranges::find(topology.peer_access, access) == topology.peer_access.end())
        topology.peer_access.push_back(access);
    }
  }
}

void add_nvlink_status(const NvlinkStatus& status, Topology& topology,
                       std::vector<Finding>& findings) {
  for (const auto& gpu : status.gpus) {
    const auto id = gpu_numbered(topology, gpu.number);
    if (!id) fail_as_different(fmt::format("there is no GPU{}", gpu.number));
    if (!gpu.model.empty()) topology.node(*id).model = gpu.model;
    int counted = 0;
    const double rate = gpu.active.empty()
                            ? 0
                            : std::accumulate(gpu.active.begin(), gpu.active.end(), 0.0) /
                                  static_cast<double>(gpu.active.size());
    for (const LinkId each : topology.links_from(*id)) {
      Link& link = topology.link(each);
      if (link.kind != LinkKind::nvlink || !link.count) continue;
      counted += *link.count;
      if (rate > 0) link.bandwidth = rate * *link.count;
    }
    if (counted != static_cast<int>(gpu.active.size()))
      findings.push_back(
          {Severity::warning, 0,
           fmt::format("GPU{} has {} active NVLinks, but {} lead to others in the matrix",
                       gpu.number, gpu.active.size(), counted)});
  }
}

void add_pcie_status(const std::vector<PcieStatus>& gpus, Topology& topology,
                     std::vector<Finding>& findings) {
  std::size_t unplaced = 0;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const auto& status = gpus[i];
    const auto id = gpu_of(status, i, gpus.size(), topology);
    if (!id) {
      ++unplaced;
      continue;
    }
    Node& node = topology.node(*id);
    const auto address = parse_pci_address(status.bus_id);
    if (address && node.address && *address != *node.address)
      fail_as_different(fmt::format("{} is at {} in one and at {} in another", node.name,
                                    to_string(*address), to_string(*node.address)));
    if (address) node.address = address;
    if (!status.model.empty()) node.model = status.model;
    if (const auto now = status.generation_of("Current"))
      node.details["pcie_generation_now"] = std::to_string(*now);
    const auto up = topology.link_up(*id);
    if (!up) continue;
    set(topology, *up, &Link::generation, status.generation_of("Max"));
    set(topology, *up, &Link::most_generation,
        status.generation_of("Device Max") ? status.generation_of("Device Max")
                                           : status.generation_of("Max"));
    set(topology, *up, &Link::width, status.width_of("Current"));
    set(topology, *up, &Link::most_width, status.width_of("Max"));
  }
  if (unplaced > 0)
    findings.push_back(
        {Severity::note, 0,
         fmt::format("nvidia-smi lists {} of {} GPUs, and no input tells which these are: what it "
                     "says of their links is not placed",
                     unplaced, topology.gpus().size())});
}

void add_lspci(const LspciLinks& links, Topology& topology) {
  for (const auto& device : links.devices) {
    const auto address = parse_pci_address(device.address);
    const auto id = address ? topology.find(*address) : std::nullopt;
    if (!id) continue;  // lspci lists everything, a topology what matters
    Node& node = topology.node(*id);
    if (device.acs) node.details["acs_redirect"] = device.acs->redirects() ? "on" : "off";
    const auto up = topology.link_up(*id);
    if (!up) continue;
    if (device.capability) {
      set(topology, *up, &Link::most_generation, pcie_generation(device.capability->speed));
      set(topology, *up, &Link::most_width, lanes(device.capability->width));
    }
    if (device.status) {
      set(topology, *up, &Link::width, lanes(device.status->width));
      if (const auto now = pcie_generation(device.status->speed))
        node.details["pcie_generation_now"] = std::to_string(*now);
    }
  }
}

LinkMatrix matrix_of(const RocmTopology& rocm) {
  LinkMatrix matrix;
  matrix.names = rocm.names;
  matrix.gpus = rocm.names.size();
  matrix.cells.resize(matrix.gpus * matrix.gpus);
  const auto put = [&](std::size_t cell, LinkClass value) {
    matrix.cells[cell] = LinkCell{.value = value, .count = 0, .old_sys = false};
  };
  for (std::size_t i = 0; i < matrix.gpus; ++i)
    for (std::size_t j = 0; j < matrix.gpus; ++j) {
      const std::size_t cell = i * matrix.gpus + j;
      const auto type = rocm.cell("link_type", cell);
      if (i == j)
        put(cell, LinkClass::self);
      else if (type == "XGMI")
        put(cell, LinkClass::xgmi);
      else if (type == "PCIE" && rocm.cell("hops", cell) == "3" && in_different_nodes(rocm, i, j))
        put(cell, LinkClass::sys);
    }
  for (const auto& [name, node] : rocm.numa_node) matrix.numa_affinity[name] = std::to_string(node);
  return matrix;
}

void add_rocm(const RocmTopology& rocm, Topology& topology) {
  const std::size_t n = rocm.names.size();
  for (std::size_t i = 0; i < n; ++i) {
    const auto from = topology.find(rocm.names[i]);
    if (!from) fail_as_different(fmt::format("there is no {}", rocm.names[i]));
    if (i < rocm.addresses.size())
      topology.node(*from).address = parse_pci_address(rocm.addresses[i]);
    for (std::size_t j = 0; j < n; ++j) {
      const auto to = topology.find(rocm.names[j]);
      if (!to || i == j) continue;
      const auto access = rocm.cell("access", i * n + j);
      if (!access.empty())
        topology.peer_access.push_back(
            {.from = *from,
             .to = *to,
             .capability = "",
             .status = access == "ENABLED" || access == "True" ? "OK" : peer_access_refused});
      for (const LinkId each : topology.links_from(*from))
        if (topology.link(each).kind == LinkKind::xgmi && topology.link(each).to == *to)
          topology.link(each).bandwidth = most_of_range(rocm.cell("bandwidth", i * n + j));
    }
  }
}

}  // namespace ringside
