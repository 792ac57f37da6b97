// SPDX-License-Identifier: MIT
#include "ringside/topology/path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

namespace ringside {
namespace {

bool is_gpu_fabric(LinkKind kind) { return kind == LinkKind::nvlink || kind == LinkKind::xgmi; }

/// Directly, or over one switch of the fabric.
std::optional<Route> fabric_route(const Topology& topology, NodeId from, NodeId to) {
  for (const LinkId first : topology.links_from(from))
    if (is_gpu_fabric(topology.link(first).kind) && topology.link(first).to == to)
      return Route{first};
  for (const LinkId first : topology.links_from(from)) {
    const Link& link = topology.link(first);
    if (!is_gpu_fabric(link.kind) || topology.node(link.to).kind != NodeKind::nvswitch) continue;
    for (const LinkId second : topology.links_from(link.to))
      if (topology.link(second).to == to && is_gpu_fabric(topology.link(second).kind))
        return Route{first, second};
  }
  return std::nullopt;
}

/// Data of other devices pass through switches, bridges and processors; through NICs when they
/// leave the box.
bool passes(const Node& node, bool leaves_box) {
  return node.kind != NodeKind::gpu && node.kind != NodeKind::pcie_device &&
         node.kind != NodeKind::nvswitch && (leaves_box || node.kind != NodeKind::nic);
}

/// Breadth first, so with the fewest links.
std::optional<Route> shortest_route(const Topology& topology, NodeId from, NodeId to) {
  const bool leaves_box = topology.node(from).box != topology.node(to).box;
  std::vector<LinkId> reached_by(topology.nodes().size(), -1);
  std::deque<NodeId> frontier{from};
  while (!frontier.empty()) {
    const NodeId here = frontier.front();
    frontier.pop_front();
    if (here == to) break;
    if (here != from && !passes(topology.node(here), leaves_box)) continue;
    for (const LinkId each : topology.links_from(here)) {
      const Link& link = topology.link(each);
      auto& arrival = reached_by[static_cast<std::size_t>(link.to)];
      if (is_gpu_fabric(link.kind) || link.kind == LinkKind::c2c || link.to == from || arrival >= 0)
        continue;
      if (link.kind == LinkKind::network && !leaves_box) continue;
      arrival = each;
      frontier.push_back(link.to);
    }
  }
  if (reached_by[static_cast<std::size_t>(to)] < 0) return std::nullopt;
  Route way;
  for (NodeId at = to; at != from; at = topology.link(way.back()).from)
    way.push_back(reached_by[static_cast<std::size_t>(at)]);
  std::ranges::reverse(way);
  return way;
}

std::optional<int> least_count(const Topology& topology, const Route& way) {
  std::optional<int> least;
  for (const LinkId each : way) {
    const auto count = topology.link(each).count;
    if (!count) return std::nullopt;
    least = least ? std::min(*least, *count) : count;
  }
  return least;
}

/// What a route over PCIe passes between its ends.
struct Passed {
  int switches = 0, host_bridges = 0, numa_nodes = 0;
  bool sockets = false, network = false;
};

Passed passed_by(const Topology& topology, const Route& way) {
  Passed passed;
  for (std::size_t i = 0; i < way.size(); ++i) {
    const Link& link = topology.link(way[i]);
    passed.sockets |= link.kind == LinkKind::socket;
    passed.network |= link.kind == LinkKind::network;
    if (i + 1 == way.size()) break;
    const NodeKind kind = topology.node(link.to).kind;
    passed.switches += kind == NodeKind::pcie_switch;
    passed.host_bridges += kind == NodeKind::host_bridge;
    passed.numa_nodes += kind == NodeKind::numa_node;
  }
  return passed;
}

PairClass certain(LinkClass value) {
  return {.value = value, .count = {}, .at_least = value, .at_most = value};
}

PairClass pcie_class(const Topology& topology, const Route& way) {
  const Passed passed = passed_by(topology, way);
  if (passed.network) return certain(LinkClass::network);
  if (passed.sockets) return certain(LinkClass::sys);
  if (passed.host_bridges >= 2) return certain(LinkClass::node);
  if (passed.host_bridges == 1) return certain(LinkClass::phb);
  if (passed.numa_nodes > 0)  // the input does not tell the bridges of a NUMA node apart
    return {.value = LinkClass::phb,
            .count = {},
            .at_least = LinkClass::phb,
            .at_most = LinkClass::node};
  return certain(passed.switches >= 2 ? LinkClass::pxb : LinkClass::pix);
}

}  // namespace

std::optional<Route> route(const Topology& topology, NodeId from, NodeId to, Medium medium) {
  if (from == to) return Route{};
  if (medium == Medium::any)
    if (auto direct = fabric_route(topology, from, to)) return direct;
  return shortest_route(topology, from, to);
}

PairClass link_class(const Topology& topology, NodeId from, NodeId to, Medium medium) {
  if (from == to) return certain(LinkClass::self);
  const auto way = route(topology, from, to, medium);
  if (!way) return certain(LinkClass::unreachable);
  const LinkKind kind = topology.link(way->front()).kind;
  if (is_gpu_fabric(kind)) {
    auto pair = certain(kind == LinkKind::nvlink ? LinkClass::nvlink : LinkClass::xgmi);
    pair.count = least_count(topology, *way);
    return pair;
  }
  auto pair = pcie_class(topology, *way);
  const auto [first, second] = std::minmax(from, to);
  for (const auto& open : topology.undecided) {
    if (open.first != first || open.second != second) continue;
    pair.at_least = open.at_least;
    pair.at_most = open.at_most;
  }
  return pair;
}

std::string to_string(const PairClass& pair) {
  if (pair.value == LinkClass::nvlink && pair.count) return fmt::format("NV{}", *pair.count);
  return std::string(to_string(pair.value));
}

std::vector<LinkUse> contended_links(const Topology& topology, std::span<const NodeId> devices) {
  std::map<LinkId, LinkUse> uses;
  for (const NodeId from : devices)
    for (const NodeId to : devices) {
      const auto way = route(topology, from, to);
      if (!way) continue;
      for (const LinkId each : *way) {
        const Link& link = topology.link(each);
        if (std::ranges::find(devices, link.from) != devices.end() ||
            std::ranges::find(devices, link.to) != devices.end())
          continue;
        auto& use = uses[each];
        use.link = each;
        use.pairs.emplace_back(from, to);
      }
    }
  std::vector<LinkUse> contended;
  for (auto& [id, use] : uses)
    if (use.pairs.size() > 1) contended.push_back(std::move(use));
  std::ranges::stable_sort(contended, std::ranges::greater{},
                           [](const LinkUse& use) { return use.pairs.size(); });
  return contended;
}

}  // namespace ringside
