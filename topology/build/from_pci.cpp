// SPDX-License-Identifier: MIT
#include "ringside/topology/build/from_pci.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/error.hpp"

namespace ringside {
namespace {

constexpr std::size_t most_levels = 64;

/// Display controllers of GPUs and accelerators; not those of a server's management chip.
bool is_gpu(const PciFunction& function) {
  const auto kind = function.class_code >> 16;
  const bool management =
      function.vendor == "0x1a03" || function.vendor == "0x102b";  // ASPEED, Matrox
  const bool emulated = function.vendor == "0x1234" || function.vendor == "0x1af4" ||
                        function.vendor == "0x1b36" || function.vendor == "0x15ad";
  return (kind == 0x03 || kind == 0x12) && !management && !emulated;
}

bool is_nic(const PciFunction& function) { return (function.class_code >> 16) == 0x02; }

class PciBuilder {
 public:
  explicit PciBuilder(const PciMachine& machine) : machine_(machine) {
    for (const auto& function : machine.functions) by_address_.emplace(function.address, &function);
  }

  Topology build() {
    std::vector<const PciFunction*> kept;
    for (const auto& [address, function] : by_address_)
      if (is_gpu(*function) || is_nic(*function)) kept.push_back(function);
    for (const auto* function : kept) note_place(*function);
    for (const auto* function : kept) add_device(*function);
    join_numa_nodes();
    return std::move(topology_);
  }

 private:
  /// The bridges from the host bridge down to the function.
  std::vector<const PciFunction*> bridges_above(const PciFunction& function) const {
    std::vector<const PciFunction*> above;
    for (auto parent = function.parent; parent;) {
      const auto bridge = by_address_.find(*parent);
      if (bridge == by_address_.end() || above.size() > most_levels) break;
      above.push_back(bridge->second);
      parent = bridge->second->parent;
    }
    if (above.size() > most_levels)
      throw Error(ErrorCode::bad_input,
                  fmt::format("{} is below itself", to_string(function.address)));
    std::ranges::reverse(above);
    return above;
  }

  /// A host bridge is where most of what hangs on it says that it is; one word is enough.
  void note_place(const PciFunction& function) {
    if (function.numa) place_.emplace(function.host_bridge, *function.numa);
  }

  NodeId numa_node(std::optional<int> id) {
    const auto [at, added] = numa_nodes_.emplace(id.value_or(-1), -1);
    if (added) {
      Node node;
      node.kind = NodeKind::numa_node;
      node.name = id ? fmt::format("numa{}", *id) : "numa";
      node.number = id;
      node.origin = id ? Origin::read : Origin::inferred;
      if (const auto cores = machine_.processors.find(id.value_or(0));
          cores != machine_.processors.end())
        node.details["cpu_affinity"] = cores->second;
      if (const auto details = machine_.numa_details.find(id.value_or(0));
          details != machine_.numa_details.end())
        node.details.insert(details->second.begin(), details->second.end());
      at->second = topology_.add(std::move(node));
    }
    return at->second;
  }

  NodeId host_bridge(const std::string& name) {
    const auto [at, added] = bridges_.emplace(name, -1);
    if (added) {
      const auto place = place_.find(name);
      const NodeId numa =
          numa_node(place == place_.end() ? std::nullopt : std::optional(place->second));
      Node node;
      node.kind = NodeKind::host_bridge;
      node.name = fmt::format("host{}", bridges_.size() - 1);
      node.details["sysfs"] = name;
      at->second = topology_.add(std::move(node));
      Link link;
      link.from = at->second;
      link.to = numa;
      link.kind = LinkKind::internal;
      topology_.connect(link);
    }
    return at->second;
  }

  NodeId pcie_switch(const PciFunction& upstream, NodeId parent) {
    const auto [at, added] = switches_.emplace(upstream.address, -1);
    if (added) {
      Node node = described(upstream, NodeKind::pcie_switch);
      node.name = fmt::format("switch{}", switches_.size() - 1);
      at->second = topology_.add(std::move(node));
      attach(upstream, at->second, parent);
    }
    return at->second;
  }

  void add_device(const PciFunction& function) {
    NodeId parent = host_bridge(function.host_bridge);
    const auto above = bridges_above(function);
    for (std::size_t level = 1; level < above.size(); level += 2) {
      parent = pcie_switch(*above[level], parent);
      if (level + 1 < above.size() && above[level + 1]->acs_redirect.has_value())
        note_redirect(parent, *above[level + 1]->acs_redirect);
    }
    Node node = described(function, is_gpu(function) ? NodeKind::gpu : NodeKind::nic);
    if (node.kind == NodeKind::gpu) {
      node.number = gpus_++;
      node.name = fmt::format("GPU{}", *node.number);
      node.details["gpu.dev"] = std::to_string(*node.number);
    } else {
      node.name = unique_name(function);
      if (function.name) node.details["net0.name"] = *function.name;
      if (function.megabits_per_second)
        node.details["net0.speed"] = std::to_string(*function.megabits_per_second);
    }
    attach(function, topology_.add(std::move(node)), parent);
  }

  /// One port that redirects is enough to send peer traffic up.
  void note_redirect(NodeId id, bool redirects) {
    auto& known = topology_.node(id).details["acs_redirect"];
    if (known != "on") known = redirects ? "on" : "off";
  }

  std::string unique_name(const PciFunction& function) {
    if (function.name && !topology_.find(*function.name)) return *function.name;
    std::string name;
    do name = fmt::format("NIC{}", nics_++);
    while (topology_.find(name));
    return name;
  }

  static Node described(const PciFunction& function, NodeKind kind) {
    Node node;
    node.kind = kind;
    node.address = function.address;
    node.details["class"] = fmt::format("0x{:06x}", function.class_code);
    if (!function.vendor.empty()) node.details["vendor"] = function.vendor;
    if (!function.device.empty()) node.details["device"] = function.device;
    return node;
  }

  void attach(const PciFunction& function, NodeId from, NodeId to) {
    Link link;
    link.from = from;
    link.to = to;
    link.generation = function.generation;
    link.width = function.width;
    link.most_generation = function.most_generation;
    link.most_width = function.most_width;
    link.bandwidth = function.bandwidth;
    topology_.connect(link);
  }

  void join_numa_nodes() {
    const auto nodes = topology_.of_kind(NodeKind::numa_node);
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (std::size_t j = i + 1; j < nodes.size(); ++j) {
        Link link;
        link.from = nodes[i];
        link.to = nodes[j];
        link.kind = LinkKind::socket;
        link.origin = Origin::inferred;
        topology_.connect(link);
      }
  }

  const PciMachine& machine_;
  std::map<PciAddress, const PciFunction*> by_address_;
  std::map<std::string, int> place_;
  Topology topology_;
  std::map<int, NodeId> numa_nodes_;
  std::map<std::string, NodeId> bridges_;
  std::map<PciAddress, NodeId> switches_;
  int gpus_ = 0, nics_ = 0;
};

}  // namespace

Topology topology_from_pci(const PciMachine& machine) { return PciBuilder(machine).build(); }

}  // namespace ringside
