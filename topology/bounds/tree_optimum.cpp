// SPDX-License-Identifier: MIT
/// The optimum of reduce-scatter and all-gather over spanning trees.
///
/// A rate x per rank is feasible exactly if every cut lets it pass: 1/x* is the greatest
/// |S and ranks| / B+(S) over sides S that miss a rank (Edmonds' theorem on disjoint branchings,
/// switches split off first). Where what enters a vertex equals what leaves it the same holds for
/// reduce-scatter, over the reversed trees.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/topology/bounds/bounds.hpp"
#include "ringside/topology/bounds/cuts.hpp"
#include "ringside/topology/bounds/whole_units.hpp"

namespace ringside {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// The first vertex that takes in something else than it gives.
std::optional<int> unbalanced_vertex(const WholeGraph& graph) {
  std::vector<std::int64_t> surplus(graph.vertices);
  for (const auto& arc : graph.arcs) {
    surplus[at(arc.to)] += arc.units;
    surplus[at(arc.from)] -= arc.units;
  }
  const auto found =
      std::find_if(surplus.begin(), surplus.end(), [](auto sum) { return sum != 0; });
  if (found == surplus.end()) return std::nullopt;
  return static_cast<int>(found - surplus.begin());
}

/// Takes from the greater direction between any two vertices what it has more than the other.
void make_symmetric(const CapacityGraph& graph, std::vector<std::int64_t>& units) {
  std::map<std::pair<int, int>, std::int64_t> between;
  for (std::size_t i = 0; i < units.size(); ++i)
    between[{graph.arcs[i].from, graph.arcs[i].to}] += units[i];
  for (std::size_t i = 0; i < units.size(); ++i) {
    const auto& arc = graph.arcs[i];
    auto& sum = between[{arc.from, arc.to}];
    const auto back = between.find({arc.to, arc.from});
    const std::int64_t allowed = back == between.end() ? 0 : back->second;
    const std::int64_t taken = std::min(units[i], std::max<std::int64_t>(0, sum - allowed));
    units[i] -= taken;
    sum -= taken;
  }
}

/// `graph` gives names and compute vertices; its capacities do not count.
TreeOptimum optimum_of(const CapacityGraph& graph, const WholeGraph& whole) {
  if (whole.places.size() < 2)
    throw Error(ErrorCode::bad_input, "a single vertex with ranks has nothing to exchange");
  const Side side = densest_cut(whole, whole.places);
  TreeOptimum result;
  result.numerator = ranks_on(whole, side);
  result.denominator = leaving(whole, side);
  const std::int64_t divisor = std::gcd(result.numerator, result.denominator);
  result.numerator /= divisor;
  result.denominator /= divisor;
  std::int64_t common = result.denominator;
  for (const auto& arc : whole.arcs) common = std::gcd(common, arc.units);
  result.trees = result.denominator / common;
  const double rate =
      static_cast<double>(result.denominator) / static_cast<double>(result.numerator);
  result.all_gather = static_cast<double>(whole.all_ranks) * rate;
  result.all_reduce_bus = static_cast<double>(whole.all_ranks - 1) * rate;
  result.cut = cut_of(graph, side);
  result.cut.capacity = static_cast<double>(leaving(whole, side));
  return result;
}

constexpr double gigabyte = 1e9;

/// From a unit that is a decimal part of a GB/s to GB/s themselves.
void tell_in_gigabytes(TreeOptimum& result) {
  const double parts = gigabyte / result.unit;
  const auto whole_parts = std::llround(parts);
  result.all_gather /= parts;
  result.all_reduce_bus /= parts;
  result.numerator *= whole_parts;
  result.unit = gigabyte;
  const std::int64_t divisor = std::gcd(result.numerator, result.denominator);
  result.numerator /= divisor;
  result.denominator /= divisor;
}

}  // namespace

TreeOptimum tree_optimum(const CapacityGraph& graph, const std::vector<std::int64_t>& units) {
  const WholeGraph whole = whole_graph(graph, units);
  if (const auto vertex = unbalanced_vertex(whole))
    throw Error(ErrorCode::bad_input,
                fmt::format("what enters {} is not what leaves it", graph.vertices[at(*vertex)]));
  return optimum_of(graph, whole);
}

TreeOptimum tree_optimum(const CapacityGraph& graph) {
  WholeUnits whole_capacities = whole_units(graph);
  WholeGraph whole = whole_graph(graph, whole_capacities.units);
  if (unbalanced_vertex(whole)) {
    make_symmetric(graph, whole_capacities.units);
    whole = whole_graph(graph, whole_capacities.units);
  }
  TreeOptimum result = optimum_of(graph, whole);
  result.unit = whole_capacities.unit;
  result.cut.capacity *= result.unit;
  const double parts = gigabyte / result.unit;
  if (parts == std::round(parts)) tell_in_gigabytes(result);
  return result;
}

}  // namespace ringside
