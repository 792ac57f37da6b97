// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/groupings.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace ringside {
namespace {

bool is_gpu_fabric(LinkKind kind) { return kind == LinkKind::nvlink || kind == LinkKind::xgmi; }

/// The nodes of the ranks' GPUs.
std::vector<NodeId> nodes_of(const Topology& topology, std::span<const int> gpus) {
  const auto all = topology.gpus();
  std::vector<NodeId> nodes;
  for (const int gpu : gpus) nodes.push_back(all.at(static_cast<std::size_t>(gpu)));
  return nodes;
}

/// From the GPU up to the root of its tree, the GPU left out.
std::vector<NodeId> above(const Topology& topology, NodeId node) {
  std::vector<NodeId> chain;
  while (const auto up = topology.link_up(node)) {
    node = topology.link(*up).to;
    chain.push_back(node);
  }
  return chain;
}

/// Ranks with equal keys together, in the order of their first ranks.
template <class Key>
Groups grouped(const std::vector<Key>& key_of_rank) {
  std::map<Key, std::size_t> place;
  Groups groups;
  for (std::size_t rank = 0; rank < key_of_rank.size(); ++rank) {
    const auto [found, added] = place.try_emplace(key_of_rank[rank], groups.size());
    if (added) groups.emplace_back();
    groups[found->second].push_back(static_cast<int>(rank));
  }
  return groups;
}

/// Of the nodes above a GPU the first (`nearest`) or last of a kind; else the GPU itself.
NodeId part_of_kind(const Topology& topology, NodeId gpu, NodeKind kind, bool nearest) {
  NodeId found = gpu;
  for (const NodeId node : above(topology, gpu)) {
    if (topology.node(node).kind != kind) continue;
    found = node;
    if (nearest) break;
  }
  return found;
}

/// NVLinks and xGMI links between ranks, directly (`links`), and the switches that join them.
struct Fabric {
  std::map<std::pair<int, int>, int> links;  // how many, both ways round
  std::vector<NodeId> switch_of;             // of each rank, or its own node
};

Fabric fabric_of(const Topology& topology, const std::vector<NodeId>& nodes) {
  std::multimap<NodeId, int> ranks;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank)
    ranks.emplace(nodes[rank], static_cast<int>(rank));
  Fabric fabric;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    fabric.switch_of.push_back(nodes[rank]);
    for (const LinkId id : topology.links_from(nodes[rank])) {
      const Link& link = topology.link(id);
      if (!is_gpu_fabric(link.kind)) continue;
      if (topology.node(link.to).kind == NodeKind::nvswitch) fabric.switch_of.back() = link.to;
      const auto [first, last] = ranks.equal_range(link.to);
      for (auto peer = first; peer != last; ++peer)
        fabric.links[{static_cast<int>(rank), peer->second}] += link.count.value_or(1);
    }
  }
  return fabric;
}

/// Ranks that are each linked to all others of their group by at least so many links. Greedy, from
/// the lowest rank on.
Groups cliques(const Fabric& fabric, int ranks, int at_least) {
  const auto linked = [&](int a, int b) {
    const auto found = fabric.links.find({a, b});
    return found != fabric.links.end() && found->second >= at_least;
  };
  Groups groups;
  std::vector<bool> taken(static_cast<std::size_t>(ranks), false);
  for (int first = 0; first < ranks; ++first) {
    if (taken[static_cast<std::size_t>(first)]) continue;
    std::vector<int> group = {first};
    for (int rank = first + 1; rank < ranks; ++rank)
      if (!taken[static_cast<std::size_t>(rank)] &&
          std::all_of(group.begin(), group.end(), [&](int member) { return linked(member, rank); }))
        group.push_back(rank);
    for (const int member : group) taken[static_cast<std::size_t>(member)] = true;
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

std::vector<Grouping> groupings(const Topology& topology, std::span<const int> gpus) {
  const auto nodes = nodes_of(topology, gpus);
  const int ranks = static_cast<int>(nodes.size());
  std::vector<Grouping> found;
  const auto offer = [&](Groups groups, const std::string& by) {
    if (groups.size() <= 1 || static_cast<int>(groups.size()) == ranks) return;
    if (std::any_of(found.begin(), found.end(),
                    [&](const Grouping& known) { return known.groups == groups; }))
      return;
    found.push_back({std::move(groups), by});
  };
  const auto offer_parts = [&](const std::string& by, const auto& key_of) {
    std::vector<NodeId> keys;
    for (const NodeId node : nodes) keys.push_back(key_of(node));
    offer(grouped(keys), by);
  };

  std::vector<int> boxes;
  for (const NodeId node : nodes) boxes.push_back(topology.node(node).box);
  offer(grouped(boxes), "box");
  const Fabric fabric = fabric_of(topology, nodes);
  offer(grouped(fabric.switch_of), "NVSwitch");
  offer_parts("NUMA node", [&](NodeId node) { return topology.root(node); });
  offer_parts("host bridge", [&](NodeId node) {
    return part_of_kind(topology, node, NodeKind::host_bridge, true);
  });
  offer_parts("upper switch", [&](NodeId node) {
    return part_of_kind(topology, node, NodeKind::pcie_switch, false);
  });
  offer_parts("switch", [&](NodeId node) {
    return part_of_kind(topology, node, NodeKind::pcie_switch, true);
  });
  std::set<int> counts;
  for (const auto& [pair, count] : fabric.links) counts.insert(count);
  for (const int count : counts) offer(cliques(fabric, ranks, count), "NVLink");
  std::stable_sort(found.begin(), found.end(), [](const Grouping& a, const Grouping& b) {
    return a.groups.size() < b.groups.size();
  });
  return found;
}

std::vector<std::vector<int>> orders_along(const Topology& topology, std::span<const int> gpus) {
  const auto nodes = nodes_of(topology, gpus);
  std::vector<int> numbered(nodes.size());
  std::iota(numbered.begin(), numbered.end(), 0);
  std::vector<std::vector<int>> orders;
  const auto offer = [&](std::vector<int> order) {
    if (std::find(orders.begin(), orders.end(), order) == orders.end())
      orders.push_back(std::move(order));
  };
  offer(numbered);

  std::vector<std::vector<NodeId>> trees;  // box, then from the root down
  for (const NodeId node : nodes) {
    auto chain = above(topology, node);
    chain.push_back(topology.node(node).box);
    std::reverse(chain.begin(), chain.end());
    trees.push_back(std::move(chain));
  }
  auto along = numbered;
  std::stable_sort(along.begin(), along.end(), [&](int a, int b) {
    return trees[static_cast<std::size_t>(a)] < trees[static_cast<std::size_t>(b)];
  });
  offer(along);

  auto snake = along;
  bool back = false;
  for (auto first = snake.begin(); first != snake.end(); back = !back) {
    const auto box = trees[static_cast<std::size_t>(*first)].front();
    const auto last = std::find_if(first, snake.end(), [&](int rank) {
      return trees[static_cast<std::size_t>(rank)].front() != box;
    });
    if (back) std::reverse(first, last);
    first = last;
  }
  offer(snake);
  return orders;
}

}  // namespace ringside
