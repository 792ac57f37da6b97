// SPDX-License-Identifier: MIT
/// Where the fastest algorithm changes with the size of the message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ringside/tools/report/runs.hpp"

namespace ringside::report {

/// The point of a series at a size, whose points rise in size; null where it has none.
[[nodiscard]] const Point* point_at(const Series& series, std::uint64_t bytes);

/// Two lines that cross, both the fastest on their side.
struct Crossover {
  std::uint64_t before = 0, behind = 0;  ///< the two sizes that it lies between; bytes
  double bytes = 0, us = 0;              ///< where the lines are drawn to cross: no more is known
  std::size_t below = 0, above = 0;      ///< which series is the fastest below, and above
  /// The spreads of the two do not overlap, neither at the size before nor at the one behind.
  bool clear = true;
};

/// Between two neighbouring sizes lines are straight on logarithmic axes, as they are drawn. Where
/// the fastest of one size was not measured at the other, nothing is known of a crossing. Points
/// of a series rise in size.
[[nodiscard]] std::vector<Crossover> crossovers(std::span<const Series> series);

}  // namespace ringside::report
