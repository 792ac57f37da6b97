// SPDX-License-Identifier: MIT
#include "brute_force.hpp"

#include <algorithm>
#include <array>

#include "machines.hpp"

namespace ringside::tests {
namespace {

/// What must leave a side with `in` of `all` ranks, as a part of the message.
double part_of_message(Demand demand, double in, double all, bool root_in) {
  if (in == 0 || in == all) return 0;
  switch (demand) {
    case Demand::all_to_everyone_reduced:
      return 1;
    case Demand::gather_to_everyone:
      return in / all;
    case Demand::reduce_to_shards:
      return (all - in) / all;
    case Demand::one_to_everyone:
      return root_in ? 1 : 0;
    case Demand::everyone_to_one:
      return root_in ? 0 : 1;
    case Demand::shards_to_one:
      return root_in ? 0 : in / all;
    case Demand::one_to_shards:
      return root_in ? (all - in) / all : 0;
    case Demand::all_to_all:
      return in * (all - in) / all;
  }
  return 0;
}

}  // namespace

double worst_of_all_cuts(const CapacityGraph& graph, Demand demand, int root) {
  double worst = 0;
  for (std::uint32_t set = 0; set < 1U << graph.vertices.size(); ++set) {
    const auto has = [&](int vertex) { return (set >> static_cast<unsigned>(vertex) & 1U) != 0; };
    const auto in = std::count_if(graph.compute.begin(), graph.compute.end(), has);
    double capacity = 0;
    for (const auto& arc : graph.arcs)
      if (has(arc.from) && !has(arc.to)) capacity += arc.capacity;
    const double part =
        part_of_message(demand, static_cast<double>(in), static_cast<double>(graph.compute.size()),
                        has(graph.compute[static_cast<std::size_t>(root)]));
    if (part > 0) worst = std::max(worst, part / capacity);
  }
  return worst;
}

CapacityGraph random_graph(std::mt19937& random, bool symmetric) {
  constexpr std::array speeds = {3.0, 6.0, 10.0, 12.0, 20.6, 24.0, 31.5, 300.0};
  const auto below = [&](unsigned limit) { return random() % limit; };
  GraphBuilder builder;
  const int switches = static_cast<int>(below(4));
  const int ranks = 2 + static_cast<int>(below(4));
  for (int i = 0; i < switches; ++i) builder.vertex("switch");
  for (int i = 0; i < ranks; ++i) builder.rank();
  for (int a = 0; a < switches + ranks; ++a)
    for (int b = a + 1; b < switches + ranks; ++b) {
      if (below(2) == 0) continue;
      if (symmetric) {
        builder.link(a, b, speeds.at(below(speeds.size())));
        continue;
      }
      builder.arc(a, b, speeds.at(below(speeds.size())));
      if (below(4) != 0) builder.arc(b, a, speeds.at(below(speeds.size())));
    }
  return builder.graph();
}

}  // namespace ringside::tests
