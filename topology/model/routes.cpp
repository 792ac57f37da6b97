// SPDX-License-Identifier: MIT
#include "ringside/topology/model/routes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>

#include "ringside/base/error.hpp"

namespace ringside {
namespace {

std::size_t index(NodeId id) { return static_cast<std::size_t>(id); }

/// The links from a node up to the end of its tree.
Route links_above(const Topology& topology, NodeId node) {
  Route links;
  for (auto up = topology.link_up(node); up; up = topology.link_up(topology.link(*up).to))
    links.push_back(*up);
  return links;
}

/// Up from one and down to the other, in one tree. Nothing where they are in different ones.
std::optional<Route> tree_route(const Topology& topology, NodeId from, NodeId to) {
  Route up = links_above(topology, from), down = links_above(topology, to);
  if (topology.root(from) != topology.root(to)) return std::nullopt;
  while (!up.empty() && !down.empty() && up.back() == down.back()) {
    up.pop_back();
    down.pop_back();
  }
  for (auto link = down.rbegin(); link != down.rend(); ++link)
    up.push_back(Topology::reverse(*link));
  return up;
}

/// Across processors: at least a link more than what is above both.
std::size_t links_between(const Topology& topology, NodeId a, NodeId b) {
  if (const auto way = tree_route(topology, a, b)) return way->size();
  return links_above(topology, a).size() + links_above(topology, b).size() + 1;
}

[[noreturn]] void fail_without_way(const Topology& topology, NodeId from, NodeId to) {
  throw Error(ErrorCode::bad_input, fmt::format("there is no way from {} to {}",
                                                topology.node(from).name, topology.node(to).name));
}

void append(Route& route, const Route& more) {
  route.insert(route.end(), more.begin(), more.end());
}

}  // namespace

bool joined_by_fabric(const Topology& topology, NodeId from, NodeId to) {
  const auto leads_to = [&](NodeId start, NodeId end) {
    return std::ranges::any_of(topology.links_from(start),
                               [&](LinkId each) { return topology.link(each).to == end; });
  };
  return std::ranges::any_of(topology.links_from(from), [&](LinkId each) {
    const Link& link = topology.link(each);
    if (link.kind != LinkKind::nvlink && link.kind != LinkKind::xgmi) return false;
    return link.to == to ||
           (topology.node(link.to).kind == NodeKind::nvswitch && leads_to(link.to, to));
  });
}

Routes::Routes(const Topology& topology)
    : topology_(topology),
      nics_(topology.nodes().size()),
      reached_by_(topology.nodes().size(), -1),
      reached_in_(topology.nodes().size(), 0) {
  check_connected();
  assign_nics();
}

void Routes::check_connected() const {
  std::vector<NodeId> leader(topology_.nodes().size());
  std::iota(leader.begin(), leader.end(), 0);
  const auto find = [&](NodeId node) {
    while (leader[index(node)] != node)
      node = leader[index(node)] = leader[index(leader[index(node)])];
    return node;
  };
  for (const auto& link : topology_.links()) leader[index(find(link.from))] = find(link.to);
  const auto gpus = topology_.gpus();
  for (const NodeId gpu : gpus)
    if (find(gpu) != find(gpus.front())) fail_without_way(topology_, gpus.front(), gpu);
}

void Routes::assign_nics() {
  std::map<int, std::vector<NodeId>> nics, gpus;
  for (const NodeId nic : topology_.nics()) nics[topology_.node(nic).box].push_back(nic);
  for (const NodeId gpu : topology_.gpus()) gpus[topology_.node(gpu).box].push_back(gpu);
  if (gpus.size() < 2) return;
  for (auto& [box, list] : gpus)
    if (const auto found = nics.find(box); found != nics.end())
      assign_nics_of(std::move(list), found->second);
}

void Routes::assign_nics_of(std::vector<NodeId> gpus, const std::vector<NodeId>& nics) {
  std::map<std::vector<NodeId>, std::vector<NodeId>> sharing;  // nearest NICs -> GPUs
  for (const NodeId gpu : gpus) {
    std::vector<NodeId> nearest;
    std::size_t least = 0;
    for (const NodeId nic : nics) {
      const auto distance = links_between(topology_, gpu, nic);
      if (nearest.empty() || distance < least) nearest.clear();
      if (nearest.empty() || distance == least) nearest.push_back(nic), least = distance;
    }
    sharing[nearest].push_back(gpu);
  }
  for (const auto& [near, users] : sharing)
    for (std::size_t i = 0; i < users.size() && !near.empty(); ++i) {
      const auto first = i * near.size() / users.size();
      const auto last = std::max(first + 1, (i + 1) * near.size() / users.size());
      nics_[index(users[i])].assign(near.begin() + static_cast<std::ptrdiff_t>(first),
                                    near.begin() + static_cast<std::ptrdiff_t>(last));
    }
}

/// Within a tree the way is known without a search; else as `route` finds it.
Route Routes::inside_box(NodeId from, NodeId to) const {
  if (auto way = tree_route(topology_, from, to)) return *way;
  return ringside::route(topology_, from, to, Medium::pcie).value_or(Route{});
}

std::vector<RouteShare> Routes::between(NodeId from, NodeId to) {
  if (topology_.node(from).box != topology_.node(to).box)
    if (auto shares = over_nics(from, to)) return *shares;
  auto way = ringside::route(topology_, from, to);
  if (!way) fail_without_way(topology_, from, to);
  return {{.route = std::move(*way), .share = 1}};
}

std::optional<std::vector<RouteShare>> Routes::over_nics(NodeId from, NodeId to) {
  const auto& out = nics_[index(from)];
  const auto& in = nics_[index(to)];
  if (joined_by_fabric(topology_, from, to)) return std::nullopt;  // one fabric across boxes
  if (out.empty() || in.empty()) return std::nullopt;
  const auto pairs = std::max(out.size(), in.size());
  std::vector<RouteShare> shares;
  for (std::size_t i = 0; i < pairs; ++i) {
    const NodeId leaves = out[i % out.size()], enters = in[i % in.size()];
    const auto cables = network_route(leaves, enters);
    if (!cables) return std::nullopt;
    Route way = inside_box(from, leaves);
    append(way, *cables);
    append(way, inside_box(enters, to));
    shares.push_back({.route = std::move(way), .share = 1.0 / static_cast<double>(pairs)});
  }
  return shares;
}

/// The fewest cables.
std::optional<Route> Routes::network_route(NodeId from, NodeId to) {
  ++search_;
  std::deque<NodeId> frontier{from};
  reached_in_[index(from)] = search_;
  while (!frontier.empty() && frontier.front() != to) {
    const NodeId here = frontier.front();
    frontier.pop_front();
    if (here != from && topology_.node(here).kind == NodeKind::nic) continue;
    for (const LinkId each : topology_.links_from(here)) {
      const Link& link = topology_.link(each);
      if (link.kind != LinkKind::network || reached_in_[index(link.to)] == search_) continue;
      reached_in_[index(link.to)] = search_;
      reached_by_[index(link.to)] = each;
      frontier.push_back(link.to);
    }
  }
  if (frontier.empty()) return std::nullopt;
  Route way;
  for (NodeId at = to; at != from; at = topology_.link(way.back()).from)
    way.push_back(reached_by_[index(at)]);
  std::ranges::reverse(way);
  return way;
}

Route Routes::to_host(NodeId gpu) const {
  for (const LinkId each : topology_.links_from(gpu))
    if (topology_.link(each).kind == LinkKind::c2c) return {each};
  return links_above(topology_, gpu);
}

NodeId Routes::host_of(NodeId gpu) const {
  const Route up = to_host(gpu);
  return up.empty() ? gpu : topology_.link(up.back()).to;
}

Route Routes::between_hosts(NodeId from, NodeId to) const {
  if (from == to) return {};
  return ringside::route(topology_, from, to, Medium::pcie).value_or(Route{});
}

}  // namespace ringside
