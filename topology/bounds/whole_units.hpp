// SPDX-License-Identifier: MIT
/// From capacities as people write them to whole numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "ringside/topology/bounds/capacity_graph.hpp"

namespace ringside {

struct WholeUnits {
  double unit = 1;                  ///< bytes per second
  std::vector<std::int64_t> units;  ///< of each arc
};

/// Capacities in the greatest unit among 1, 0.1, 0.01 and 0.001 GB/s in which all are whole to
/// within 1e-6 of themselves; else in a whole part of the least, where there is one; else in 1e-6
/// of it; but never in one so small that all units together, times the ranks, exceed 2^60. An
/// infinite capacity becomes the sum of all others, which limits as little. Throws
/// Error(bad_input) for a negative capacity or NaN.
[[nodiscard]] WholeUnits whole_units(const CapacityGraph& graph);

}  // namespace ringside
