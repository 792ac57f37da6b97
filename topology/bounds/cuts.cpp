// SPDX-License-Identifier: MIT
#include "ringside/topology/bounds/cuts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "ringside/base/error.hpp"
#include "ringside/topology/bounds/max_flow.hpp"

namespace ringside {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max() / 4;

[[noreturn]] void fail_unconnected() {
  throw Error(ErrorCode::bad_input, "the links do not connect all ranks");
}

/// Vertices with ranks, in the order in which a search from the first one meets them.
std::vector<int> places_by_nearness(const WholeGraph& graph, int first) {
  std::vector<std::vector<int>> near(graph.vertices);
  for (const auto& arc : graph.arcs) {
    near[at(arc.from)].push_back(arc.to);
    near[at(arc.to)].push_back(arc.from);
  }
  std::vector<bool> seen(graph.vertices);
  std::vector<int> order = {first};
  seen[at(first)] = true;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const int next : near[at(order[i])])
      if (!seen[at(next)]) {
        seen[at(next)] = true;
        order.push_back(next);
      }
  std::erase_if(order, [&](int vertex) { return graph.ranks[at(vertex)] == 0; });
  for (std::size_t vertex = 0; vertex < graph.vertices; ++vertex)
    if (graph.ranks[vertex] > 0 && !seen[vertex]) fail_unconnected();
  return order;
}

/// A flow network of the graph's arcs, times `factor`, with a source before every place.
struct SourcedNetwork {
  SourcedNetwork(const WholeGraph& graph, std::int64_t factor)
      : network(graph.vertices + 1),
        source(static_cast<int>(graph.vertices)),
        source_arc(graph.vertices, -1) {
    for (const auto& arc : graph.arcs) network.add_arc(arc.from, arc.to, arc.units * factor);
    for (const int place : graph.places) source_arc[at(place)] = network.add_arc(source, place, 0);
  }

  void supply(int place, std::int64_t amount) {
    network.set_capacity(source_arc[at(place)], amount);
  }
  [[nodiscard]] Side side() const {
    Side side = network.source_side();
    side.pop_back();
    return side;
  }

  FlowNetwork network;
  int source;
  std::vector<int> source_arc;  // [vertex]
};

/// A side that misses a target and has more than `ranks` per `capacity`; empty where there is none.
/// With a supply of `capacity` per rank and arcs times `ranks`, a side S that misses v is such a
/// one exactly if capacity x (ranks outside S) + ranks x (what leaves S) < capacity x (all ranks).
Side denser_cut(const WholeGraph& graph, std::span<const int> targets, std::int64_t ranks,
                std::int64_t capacity) {
  SourcedNetwork sourced(graph, ranks);
  for (const int place : graph.places) sourced.supply(place, capacity * graph.ranks[at(place)]);
  const std::int64_t enough = capacity * graph.all_ranks;
  for (const int target : targets) {
    if (sourced.network.flow(sourced.source, target, enough) < enough) return sourced.side();
    sourced.supply(target, unlimited);  // sides without it are done
  }
  return {};
}

/// All but the target of which the least can be said per rank: a good guess, often the answer.
Side all_but_the_narrowest(const WholeGraph& graph, std::span<const int> targets) {
  std::vector<std::int64_t> entering(graph.vertices);
  for (const auto& arc : graph.arcs)
    if (arc.from != arc.to) entering[at(arc.to)] += arc.units;
  const auto density = [&](int target) {
    if (entering[at(target)] == 0) fail_unconnected();
    return static_cast<double>(graph.all_ranks - graph.ranks[at(target)]) /
           static_cast<double>(entering[at(target)]);
  };
  const int narrowest = *std::max_element(targets.begin(), targets.end(),
                                          [&](int a, int b) { return density(a) < density(b); });
  Side side(graph.vertices, true);
  side[at(narrowest)] = false;
  return side;
}

}  // namespace

WholeGraph whole_graph(const CapacityGraph& graph, std::span<const std::int64_t> units) {
  WholeGraph whole;
  whole.vertices = graph.vertices.size();
  whole.ranks.resize(whole.vertices);
  const auto exists = [&](int vertex) { return vertex >= 0 && at(vertex) < whole.vertices; };
  if (units.size() != graph.arcs.size())
    throw Error(ErrorCode::bad_input,
                fmt::format("{} capacities for {} arcs", units.size(), graph.arcs.size()));
  if (graph.compute.empty()) throw Error(ErrorCode::bad_input, "no vertex holds a rank");
  for (const int vertex : graph.compute) {
    if (!exists(vertex))
      throw Error(ErrorCode::bad_input, fmt::format("no vertex {} for a rank", vertex));
    ++whole.ranks[at(vertex)];
    ++whole.all_ranks;
  }
  const std::int64_t most = (std::int64_t{1} << 61) / whole.all_ranks;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < graph.arcs.size(); ++i) {
    const auto& arc = graph.arcs[i];
    if (!exists(arc.from) || !exists(arc.to) || units[i] < 0)
      throw Error(ErrorCode::bad_input,
                  fmt::format("arc {} from {} to {}: no such vertices, or a negative capacity", i,
                              arc.from, arc.to));
    if (units[i] > most - sum)
      throw Error(ErrorCode::bad_input, "the capacities are too many units for exact arithmetic");
    sum += units[i];
    whole.arcs.push_back({arc.from, arc.to, units[i]});
  }
  whole.places = places_by_nearness(whole, graph.compute.front());
  return whole;
}

WholeGraph reversed(WholeGraph graph) {
  for (auto& arc : graph.arcs) std::swap(arc.from, arc.to);
  return graph;
}

std::int64_t leaving(const WholeGraph& graph, const Side& side) {
  std::int64_t sum = 0;
  for (const auto& arc : graph.arcs)
    if (side[at(arc.from)] && !side[at(arc.to)]) sum += arc.units;
  return sum;
}

std::int64_t ranks_on(const WholeGraph& graph, const Side& side) {
  std::int64_t count = 0;
  for (const int place : graph.places)
    if (side[at(place)]) count += graph.ranks[at(place)];
  return count;
}

Side complement(Side side) {
  side.flip();
  return side;
}

Side least_cut(const WholeGraph& graph, int root) {
  SourcedNetwork sourced(graph, 1);
  sourced.supply(root, unlimited);
  std::int64_t least = unlimited;
  Side best;
  for (const int target : places_by_nearness(graph, root)) {
    if (target == root) continue;
    const std::int64_t flow = sourced.network.flow(sourced.source, target, least);
    if (flow < least) {
      least = flow;
      best = sourced.side();
    }
    sourced.supply(target, unlimited);
  }
  if (least == 0) fail_unconnected();
  return best;
}

Side least_cut_between(const WholeGraph& graph, std::span<const int> from,
                       std::span<const int> to) {
  FlowNetwork network(graph.vertices + 2);
  const int source = static_cast<int>(graph.vertices);
  const int sink = source + 1;
  for (const auto& arc : graph.arcs) network.add_arc(arc.from, arc.to, arc.units);
  for (const int vertex : from) network.add_arc(source, vertex, unlimited);
  for (const int vertex : to) network.add_arc(vertex, sink, unlimited);
  (void)network.flow(source, sink, unlimited);
  Side side = network.source_side();
  side.resize(graph.vertices);
  return side;
}

Side densest_cut(const WholeGraph& graph, std::span<const int> targets) {
  Side best = all_but_the_narrowest(graph, targets);
  while (true) {
    const std::int64_t capacity = leaving(graph, best);
    if (capacity == 0) fail_unconnected();
    const std::int64_t ranks = ranks_on(graph, best);
    const std::int64_t divisor = std::gcd(ranks, capacity);
    Side denser = denser_cut(graph, targets, ranks / divisor, capacity / divisor);
    if (denser.empty()) return best;
    best = std::move(denser);
  }
}

Cut cut_of(const CapacityGraph& graph, const Side& side) {
  Cut cut;
  for (std::size_t vertex = 0; vertex < side.size(); ++vertex)
    if (side[vertex]) cut.side.push_back(static_cast<int>(vertex));
  for (std::size_t i = 0; i < graph.arcs.size(); ++i) {
    const auto& arc = graph.arcs[i];
    if (!side[at(arc.from)] || side[at(arc.to)]) continue;
    cut.capacity += arc.capacity;
    cut.arcs.push_back(static_cast<int>(i));
  }
  return cut;
}

Side side_of(const CapacityGraph& graph, const Cut& cut) {
  Side side(graph.vertices.size());
  for (const int vertex : cut.side) side[at(vertex)] = true;
  return side;
}

std::vector<std::vector<int>> parts_above(const CapacityGraph& graph, double slowest) {
  std::vector<int> part(graph.vertices.size());
  std::iota(part.begin(), part.end(), 0);
  const auto find = [&](int vertex) {
    while (part[at(vertex)] != vertex) vertex = part[at(vertex)] = part[at(part[at(vertex)])];
    return vertex;
  };
  for (const auto& arc : graph.arcs)
    if (arc.capacity > slowest) part[at(find(arc.from))] = find(arc.to);
  std::vector<bool> has_ranks(graph.vertices.size());
  for (const int vertex : graph.compute) has_ranks[at(find(vertex))] = true;
  std::vector<std::vector<int>> by_root(graph.vertices.size());
  for (std::size_t vertex = 0; vertex < graph.vertices.size(); ++vertex)
    by_root[at(find(static_cast<int>(vertex)))].push_back(static_cast<int>(vertex));
  std::vector<std::vector<int>> parts;
  for (std::size_t root = 0; root < by_root.size(); ++root)
    if (has_ranks[root]) parts.push_back(std::move(by_root[root]));
  return parts;
}

}  // namespace ringside
