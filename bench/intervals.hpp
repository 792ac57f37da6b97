// SPDX-License-Identifier: MIT
/// Intervals from ranks: they ask nothing of the distribution but that samples are independent, so
/// a round in which a neighbour took the core cannot mislead them.
#pragma once

#include <cstddef>
#include <span>

namespace ringside::bench {

struct Interval {
  double low = 0, high = 0;

  [[nodiscard]] bool contains(double value) const { return low <= value && value <= high; }
};

/// Of the median of what the samples (at least one, in any order) were drawn from: the order
/// statistics that enclose it with at least this confidence (sign test). Infinite
/// where they are too few for it (below 5 for 90 %).
[[nodiscard]] Interval median_interval(std::span<const double> samples, double confidence);

/// By how much the second group lies above the first, where they differ by a shift.
struct Shift {
  double estimate = 0;  ///< Hodges and Lehmann: the median of all differences between the groups
  Interval interval;    ///< infinite where the samples are too few for the confidence
};

/// The shift and its exact interval (Mann and Whitney). At least one sample each, in any order.
[[nodiscard]] Shift shift_between(std::span<const double> first, std::span<const double> second,
                                  double confidence);

/// The probability that Mann and Whitney's U of two groups of the same distribution is at most
/// `most`: U counts the pairs in which the second sample is the smaller one.
[[nodiscard]] double mann_whitney_tail(std::size_t first, std::size_t second, std::size_t most);

}  // namespace ringside::bench
