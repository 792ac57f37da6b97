// SPDX-License-Identifier: MIT
/// The median, which single values that were disturbed do not move.
#pragma once

#include <algorithm>
#include <vector>

namespace ringside::trainer {

/// The middle one of at least one value; the mean of the two middle ones of an even number.
[[nodiscard]] inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace ringside::trainer
