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
  /// What must leave `side`. Empty where it is not a single cut but what must enter `domains`.
  Cut cut;
  /// Disjoint sets of vertices, each ascending, with at least a rank in each: together they must
  /// take in more than any cut says. With a rank in each these are the ranks' ports.
  std::vector<std::vector<int>> domains;
  /// Void where a switch reduces (NVLink SHARP): the bound counts what enters the ranks.
  bool ranks_reduce = false;
  std::string reason;  ///< one line for people

  /// The reason, and where the bound is void.
  [[nodiscard]] std::string told() const;
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

/// Bounds that hold for every plan whatever, the tightest first; at least one.
///
/// - The worst cut: what must cross it over its capacity, the greatest of all cuts. Exact but for
///   all_to_all on more than `exact_all_to_all_ranks` ranks (that is the sparsest cut, NP-hard):
///   there the worst of single ranks, of parts joined by faster links than the rest, and of the
///   cuts that are worst for gathering and scattering.
/// - all_reduce, and void where a switch reduces: with the ranks in k disjoint domains a partial
/// sum
///   must enter a domain at least 2 (k - 1) times (to gossip among k takes 2 (k - 1) one-way calls:
///   Harary and Schwenk, J. Franklin Inst. 297, 1974), so 2 (k - 1) S over the sum of what can
///   enter them. Domains: single ranks, and the parts that are left when the slowest links go.
///
/// Arcs of infinite capacity are never a limit. `root` is an index in graph.compute. Several ranks
/// may stand on one vertex. Throws Error(bad_input) for a graph that does not connect the ranks,
/// and for one that is not well formed.
inline constexpr int exact_all_to_all_ranks = 8;
[[nodiscard]] std::vector<Bound> bounds_of_any_plan(const CapacityGraph& graph, Demand demand,
                                                    int root = 0);

/// The best that reduce-scatter and all-gather over spanning trees can do, one after another
/// (ForestColl, arXiv 2402.06787), exactly.
struct TreeOptimum {
  std::int64_t numerator = 0, denominator = 1;  ///< 1/x* as a reduced fraction, per `unit`
  double unit = 1;                              ///< bytes per second
  std::int64_t trees = 0;                       ///< k, spanning trees per root
  Cut cut;                    ///< S, for which |S and ranks| / B+(S) is 1/x*; bytes per second
  double all_gather = 0;      ///< algorithm bandwidth N x*, units
  double all_reduce_bus = 0;  ///< bus bandwidth (N - 1) x*, units
};

/// `units[arc]`: whole capacities, instead of the graph's; `unit` is then 1 and the cut's capacity
/// in units. What enters a vertex must equal what leaves it. Throws Error(bad_input) otherwise, for
/// a single rank, where the ranks are not connected, and where the capacities are so fine that
/// their sum times the ranks exceeds 2^61.
[[nodiscard]] TreeOptimum tree_optimum(const CapacityGraph& graph,
                                       const std::vector<std::int64_t>& units);
/// The same with the graph's capacities in whole GB/s or decimal parts of it, to within 1e-6 (where
/// they have no such unit the fraction is per a smaller one). Where the directions between two
/// vertices differ so that a vertex is unbalanced, both count as the lesser.
[[nodiscard]] TreeOptimum tree_optimum(const CapacityGraph& graph);

}  // namespace ringside
