// SPDX-License-Identifier: MIT
/// The worst cuts of a capacity graph, for one kind of question or another.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ringside/topology/bounds/bounds.hpp"
#include "ringside/topology/bounds/capacity_graph.hpp"

namespace ringside {

/// [vertex]: on this side of the cut.
using Side = std::vector<bool>;

/// A graph with whole capacities; what cuts are searched in. A value.
struct WholeGraph {
  std::size_t vertices = 0;
  struct Arc {
    int from = 0, to = 0;
    std::int64_t units = 0;
  };
  std::vector<Arc> arcs;            ///< as the graph's
  std::vector<std::int64_t> ranks;  ///< [vertex]: how many stand there
  std::int64_t all_ranks = 0;
  std::vector<int> places;  ///< vertices with ranks, near ones one after another, each once
};

/// Throws Error(bad_input) for ends that do not exist, negative capacities, and capacities whose
/// sum times the ranks exceeds 2^61.
[[nodiscard]] WholeGraph whole_graph(const CapacityGraph& graph,
                                     std::span<const std::int64_t> units);
/// The same with every arc the other way round.
[[nodiscard]] WholeGraph reversed(WholeGraph graph);

/// What leaves a side, in units.
[[nodiscard]] std::int64_t leaving(const WholeGraph& graph, const Side& side);
[[nodiscard]] std::int64_t ranks_on(const WholeGraph& graph, const Side& side);
[[nodiscard]] Side complement(Side side);

/// Of the sides that hold `root` and not all ranks, one that least can leave. By as many flows as
/// there are places: a target that was compared joins the source, for sides without it are done
/// (after Hao and Orlin, J. Algorithms 17, 1994).
[[nodiscard]] Side least_cut(const WholeGraph& graph, int root);

/// Of the sides that hold all of `from` and nothing of `to` (vertices), one that least can leave.
[[nodiscard]] Side least_cut_between(const WholeGraph& graph, std::span<const int> from,
                                     std::span<const int> to);

/// Of the sides that miss at least one of the targets (vertices), one with the most ranks per
/// capacity that leaves it; by Dinkelbach's iteration (Management Science 13, 1967), exactly.
/// Throws Error(bad_input) where a target cannot be reached from everywhere.
[[nodiscard]] Side densest_cut(const WholeGraph& graph, std::span<const int> targets);

/// The cut in the graph itself: what leaves it in bytes per second, and by which arcs.
[[nodiscard]] Cut cut_of(const CapacityGraph& graph, const Side& side);
[[nodiscard]] Side side_of(const CapacityGraph& graph, const Cut& cut);

/// Parts that are left when all arcs go that are not faster than `slowest`: vertices of each part
/// that has ranks, ascending.
[[nodiscard]] std::vector<std::vector<int>> parts_above(const CapacityGraph& graph, double slowest);

}  // namespace ringside
