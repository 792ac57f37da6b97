// SPDX-License-Identifier: MIT
/// What no plan can beat, and the best of one class of plans. The two are never mixed: the first
/// are invariants of every simulated or measured time, the second can be beaten by plans of another
/// kind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ringside/topology/bounds/capacity_graph.hpp"

namespace ringside {

/// Vertices on one side of a cut, and what leaves it.
struct Cut {
  std::vector<int> side;  ///< vertices of S, ascending
  double capacity = 0;    ///< bytes per second, of the arcs from S to the rest
  std::vector<int> arcs;  ///< which these are
};

/// Why and by how much a time is bounded from below.
struct Bound {
  double seconds_per_byte = 0;  ///< of the message; times its bytes gives seconds
  Cut cut;                      ///< empty side: not a cut but the ports of the ranks
  std::string reason;           ///< one line for people
};

/// Kinds of demand, as bounds see them; `message` is the bytes that seconds_per_byte is for.
enum class Demand {
  all_to_everyone_reduced,  ///< all_reduce: message = a rank's buffer
  gather_to_everyone,       ///< all_gather: message = all shards together
  reduce_to_shards,         ///< reduce_scatter: message = a rank's buffer
  one_to_everyone,          ///< broadcast
  everyone_to_one,          ///< reduce (of whole buffers)
  shards_to_one,            ///< gather: message = all shards together
  one_to_shards,            ///< scatter
  all_to_all,               ///< message = what a rank sends in all, its own part included
};

/// The greatest of all bounds that hold for every plan whatever: for every cut, what must cross it
/// over its capacity; and, for all_reduce, 2 (n - 1) S over the sum of the ranks' in-capacities
/// (void with reduction inside a switch). All that hold, the tightest first; at least one. `root`
/// is an index in graph.compute. Throws Error(bad_input) for a graph that does not connect the
/// ranks.
[[nodiscard]] std::vector<Bound> bounds_of_any_plan(const CapacityGraph& graph, Demand demand,
                                                    int root = 0);

/// The best that reduce-scatter and all-gather over spanning trees can do, one after another
/// (ForestColl, arXiv 2402.06787), exactly: capacities are whole numbers in a unit of the caller's.
struct TreeOptimum {
  std::int64_t numerator = 0, denominator = 1;  ///< 1/x* as a reduced fraction, per capacity unit
  std::int64_t trees = 0;                       ///< k, spanning trees per root
  Cut cut;                                      ///< S, for which |S and ranks| / B+(S) is 1/x*
  double all_gather = 0;                        ///< algorithm bandwidth, capacity units
  double all_reduce_bus = 0;                    ///< bus bandwidth, capacity units
};

/// `units[arc]`: whole capacities. What enters a vertex must equal what leaves it. Throws
/// Error(bad_input) otherwise.
[[nodiscard]] TreeOptimum tree_optimum(const CapacityGraph& graph,
                                       const std::vector<std::int64_t>& units);
/// The same with capacities rounded to a unit that keeps them within 1e-6, and scaled back: GB/s.
[[nodiscard]] TreeOptimum tree_optimum(const CapacityGraph& graph);

}  // namespace ringside
