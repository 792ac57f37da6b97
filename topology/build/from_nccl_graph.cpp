// SPDX-License-Identifier: MIT
#include "ringside/topology/build/from_nccl_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "ringside/base/error.hpp"

namespace ringside {
namespace {

using Entry = NcclGraph::Entry;

/// The number behind the last dash; nothing for -1, which NCCL prints where it does not know.
std::optional<std::uint64_t> number_of(const Entry& entry) {
  const auto dash = entry.id.rfind('-');
  const std::string_view digits =
      std::string_view(entry.id).substr(dash == std::string::npos ? 0 : dash + 1);
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  if (error != std::errc() || end != digits.data() + digits.size() || ~number == 0)
    return std::nullopt;
  return number;
}

/// NCCL packs an address as domain, 8 bits of bus, 8 of device, 4 of function. A small number is
/// that of a device which is on no bus.
std::optional<PciAddress> address_of(const Entry& entry) {
  const auto number = number_of(entry);
  if (!number || *number < 0x10 || *number >> 52 != 0) return std::nullopt;
  return PciAddress{.domain = static_cast<std::uint32_t>(*number >> 20),
                    .bus = static_cast<std::uint8_t>(*number >> 12 & 0xff),
                    .device = static_cast<std::uint8_t>(*number >> 4 & 0xff),
                    .function = static_cast<std::uint8_t>(*number & 0xf)};
}

class GraphBuilder {
 public:
  explicit GraphBuilder(const NcclGraph& graph)
      : entries_(graph.entries), nodes_(graph.entries.size()) {}

  Topology build() {
    number_gpus();
    for (std::size_t i = 0; i < entries_.size(); ++i) add(i);
    for (std::size_t i = 0; i < entries_.size(); ++i) add_across(i);
    topology_.check_depth();
    return std::move(topology_);
  }

 private:
  /// Newer versions have a DEV above each GPU, which is the device on the bus.
  [[nodiscard]] bool is_gpu(std::size_t i) const {
    const auto& entry = entries_[i];
    if (entry.kind == "DEV") return entry.link == "PCI";
    return entry.kind == "GPU" && entry.link == "PCI";
  }

  void number_gpus() {
    std::set<std::string> gpus;
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (is_gpu(i)) gpus.insert(entries_[i].id);
    if (gpus.empty()) throw Error(ErrorCode::bad_input, "NCCL's graph has no GPU");
    std::vector<std::string> sorted(gpus.begin(), gpus.end());
    const auto key = [](const std::string& id) {
      return number_of(Entry{.link = {}, .kind = {}, .id = id, .beside = {}}).value_or(0);
    };
    std::ranges::stable_sort(sorted, {}, key);
    for (std::size_t n = 0; n < sorted.size(); ++n) numbers_[sorted[n]] = static_cast<int>(n);
  }

  void add(std::size_t i) {
    const auto& entry = entries_[i];
    if (entry.link.empty()) return add_processor(i);
    const auto parent = nodes_[static_cast<std::size_t>(entry.parent)];
    if (!parent) return;
    if (entry.link == "LOC" && entry.kind == "GPU") return note_rank(entry, *parent);
    if (entry.link == "NET" && entry.kind == "NET") return note_speed(entry, *parent);
    if (entry.link != "PCI" || entry.kind == "CPU" || known_.contains(key(entry))) return;
    Node node;
    node.address = address_of(entry);
    if (node.address && topology_.find(*node.address)) node.address.reset();
    node.kind = is_gpu(i)             ? NodeKind::gpu
                : entry.kind == "PCI" ? NodeKind::pcie_switch
                : entry.kind == "NIC" ? NodeKind::nic
                                      : NodeKind::pcie_device;
    if (node.kind == NodeKind::gpu) {
      node.number = numbers_.at(entry.id);
      node.name = fmt::format("GPU{}", *node.number);
      if (entry.kind == "GPU" && !entry.beside.empty()) node.details["gpu.rank"] = entry.beside;
    } else {
      const char* name = node.kind == NodeKind::nic           ? "NIC"
                         : node.kind == NodeKind::pcie_switch ? "switch"
                                                              : "device";
      node.name = fmt::format("{}{}", name, counts_[name]++);
    }
    node.details["nccl.gb_per_s"] = fmt::format("{:g}", entry.bandwidth);
    const NodeId id = topology_.add(std::move(node));
    remember(i, id);
    connect(id, *parent, LinkKind::pcie);
  }

  void add_processor(std::size_t i) {
    const auto& entry = entries_[i];
    if (known_.contains(key(entry))) return;
    const auto number = number_of(entry);
    Node node;
    node.kind = NodeKind::numa_node;
    if (number && *number < 1'000'000) node.number = static_cast<int>(*number);
    node.name = node.number ? fmt::format("numa{}", *node.number) : "numa";
    if (topology_.find(node.name)) node.name += fmt::format("-{}", i);  // of another machine
    remember(i, topology_.add(std::move(node)));
  }

  void note_rank(const Entry& entry, NodeId gpu) {
    if (!entry.beside.empty()) topology_.node(gpu).details["gpu.rank"] = entry.beside;
  }

  void note_speed(const Entry& entry, NodeId nic) {
    if (topology_.node(nic).kind == NodeKind::nic && entry.bandwidth < 1e5)
      topology_.node(nic).details["net0.speed"] =
          std::to_string(std::lround(entry.bandwidth * 8000));
  }

  /// NVLink, xGMI, between processors, and between a GPU and its processor.
  void add_across(std::size_t i) {
    const auto& entry = entries_[i];
    if (entry.link.empty() || entry.parent < 0) return;
    const auto from = nodes_[static_cast<std::size_t>(entry.parent)];
    const auto kind = kind_of(entry.link);
    if (!from || !kind) return;
    auto to = known_.find(key(entry));
    if (to == known_.end() && entry.kind == "NVS") {
      Node node;
      node.kind = NodeKind::nvswitch;
      node.name = fmt::format("nvswitch{}", counts_["nvswitch"]++);
      to = known_.emplace(key(entry), topology_.add(std::move(node))).first;
    }
    if (to == known_.end() || to->second == *from) return;
    const NodeId peer = to->second;
    const bool there = std::ranges::any_of(topology_.links_from(*from), [&](LinkId each) {
      return topology_.link(each).to == peer && topology_.link(each).kind == *kind;
    });
    if (!there) connect(*from, peer, *kind);
  }

  static std::optional<LinkKind> kind_of(const std::string& link) {
    if (link == "NVL") return LinkKind::nvlink;
    if (link == "XGMI") return LinkKind::xgmi;
    if (link == "SYS" || link == "QPI" || link == "UPI") return LinkKind::socket;
    if (link == "C2C") return LinkKind::c2c;
    return std::nullopt;
  }

  /// A GPU's DEV and the GPU itself are one node.
  static std::string key(const Entry& entry) {
    return (entry.kind == "DEV" ? "GPU" : entry.kind) + "/" + entry.id;
  }

  void remember(std::size_t i, NodeId id) {
    nodes_[i] = id;
    known_.emplace(key(entries_[i]), id);
  }

  void connect(NodeId from, NodeId to, LinkKind kind) {
    Link link;
    link.from = from;
    link.to = to;
    link.kind = kind;
    topology_.connect(link);
  }

  const std::vector<Entry>& entries_;
  std::vector<std::optional<NodeId>> nodes_;  // of each entry
  std::map<std::string, NodeId> known_;
  std::map<std::string, int> numbers_, counts_;
  Topology topology_;
};

}  // namespace

Topology topology_from_nccl_graph(const NcclGraph& graph, std::vector<Finding>& findings) {
  findings.push_back({Severity::note, 0,
                      "NCCL's graph has the GPUs of one communicator: numbered by bus address, "
                      "widths and generations are not told"});
  return GraphBuilder(graph).build();
}

}  // namespace ringside
