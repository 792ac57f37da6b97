// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/simulated/nccl_rings.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "ringside/collectives/algorithms/ring_steps.hpp"
#include "ringside/collectives/builder.hpp"
#include "ringside/topology/model/routes.hpp"

namespace ringside {
namespace {

using Order = std::vector<int>;
/// Links that are left, [from][to].
using Links = std::vector<std::vector<int>>;

/// Looks for rings that together use each link at most as often as it is there.
class RingSearch {
 public:
  explicit RingSearch(Links links) : links_(std::move(links)) {}

  std::vector<Order> most_rings() {
    Order ring{0};
    std::vector<bool> used(links_.size(), false);
    used[0] = true;
    extend(ring, used);
    return best_;
  }

 private:
  /// A hybrid cube mesh needs some hundreds of steps, a full mesh of eight some thousands.
  static constexpr int most_steps = 2'000'000;

  [[nodiscard]] int& left(int from, int to) {
    return links_[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }
  [[nodiscard]] int left_at(int node) const {
    const auto& row = links_[static_cast<std::size_t>(node)];
    return std::accumulate(row.begin(), row.end(), 0);
  }

  void extend(Order& ring, std::vector<bool>& used) {
    if (++steps_ > most_steps) return;
    const int n = static_cast<int>(links_.size());
    const int last = ring.back();
    if (static_cast<int>(ring.size()) == n) {
      if (left(last, 0) == 0) return;
      --left(last, 0);
      close(ring);
      ++left(last, 0);
      return;
    }
    for (int next = 1; next < n; ++next) {
      if (used[static_cast<std::size_t>(next)] || left(last, next) == 0) continue;
      --left(last, next);
      ring.push_back(next);
      used[static_cast<std::size_t>(next)] = true;
      extend(ring, used);
      used[static_cast<std::size_t>(next)] = false;
      ring.pop_back();
      ++left(last, next);
      if (is_done()) return;
    }
  }

  void close(const Order& ring) {
    found_.push_back(ring);
    if (found_.size() > best_.size()) best_ = found_;
    // Rank 0's links are the most that rings can be.
    most_ = std::max(most_, found_.size() + static_cast<std::size_t>(left_at(0)));
    if (!is_done()) {
      Order next{0};
      std::vector<bool> used(links_.size(), false);
      used[0] = true;
      extend(next, used);
    }
    found_.pop_back();
  }

  [[nodiscard]] bool is_done() const {
    return steps_ > most_steps || (most_ > 0 && best_.size() >= most_);
  }

  Links links_;
  std::vector<Order> found_, best_;
  std::size_t most_ = 0;
  int steps_ = 0;
};

Links direct_links(const Topology& topology, const std::vector<NodeId>& nodes) {
  Links links(nodes.size(), std::vector<int>(nodes.size(), 0));
  for (std::size_t a = 0; a < nodes.size(); ++a)
    for (const LinkId each : topology.links_from(nodes[a])) {
      const Link& link = topology.link(each);
      const auto b = std::ranges::find(nodes, link.to);
      if (b == nodes.end() || (link.kind != LinkKind::nvlink && link.kind != LinkKind::xgmi))
        continue;
      links[a][static_cast<std::size_t>(b - nodes.begin())] += link.count.value_or(1);
    }
  return links;
}

/// One ring for each place in a box: the boxes one after another, each begun at that place.
std::vector<Order> rings_over_boxes(const std::map<int, Order>& boxes) {
  std::size_t rings = 0;
  for (const auto& [box, ranks] : boxes) rings = std::max(rings, ranks.size());
  std::vector<Order> orders(rings);
  for (std::size_t ring = 0; ring < rings; ++ring)
    for (const auto& [box, ranks] : boxes)
      for (std::size_t i = 0; i < ranks.size(); ++i)
        orders[ring].push_back(ranks[(ring + i) % ranks.size()]);
  return orders;
}

}  // namespace

std::vector<Order> nccl_rings(const Topology& topology, const std::vector<int>& gpus) {
  const auto all = topology.gpus();
  std::vector<NodeId> nodes;
  std::map<int, Order> boxes;
  for (const int gpu : gpus) {
    nodes.push_back(all.at(static_cast<std::size_t>(gpu)));
    boxes[topology.node(nodes.back()).box].push_back(static_cast<int>(nodes.size()) - 1);
  }
  Order in_order(gpus.size());
  std::iota(in_order.begin(), in_order.end(), 0);
  if (boxes.size() > 1 && !joined_by_fabric(topology, nodes.front(), nodes.back()))
    return rings_over_boxes(boxes);
  auto rings = RingSearch(direct_links(topology, nodes)).most_rings();
  return rings.empty() ? std::vector<Order>{in_order} : rings;
}

Plan all_reduce_on_rings(const std::vector<Order>& rings) {
  const Request request{.collective = Collective::all_reduce,
                        .ranks = static_cast<int>(rings.front().size()),
                        .root = 0,
                        .in_place = true};
  const int n = request.ranks;
  const auto count = static_cast<int>(rings.size());
  const Shape shape{.chunks_per_block = n * count, .lanes = count, .slices = 1, .depth = 1};
  Builder builder(request, shape, count);
  const Group group(builder);
  Plan plan(request, shape, "NCCL's rings");
  std::vector<Group> parts;
  for (int ring = 0; ring < count; ++ring)
    parts.push_back(group.among(rings[static_cast<std::size_t>(ring)])
                        .part(ring * n, n, n)
                        .on_fixed_lane(ring));
  for (auto* half : {&ring_reduce_scatter, &ring_all_gather}) {
    std::vector<OpStream> streams;
    for (const auto& part : parts) streams.push_back((*half)(part));
    while (const Op* op = streams.front().next()) {
      plan.append(*op);
      for (std::size_t i = 1; i < streams.size(); ++i) plan.append(*streams[i].next());
    }
  }
  return plan;
}

}  // namespace ringside
