// SPDX-License-Identifier: MIT
#include "ringside/base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace ringside {

double mean(std::span<const double> samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

double minimum(std::span<const double> samples) {
  return *std::min_element(samples.begin(), samples.end());
}

double maximum(std::span<const double> samples) {
  return *std::max_element(samples.begin(), samples.end());
}

double median(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  if (sorted.size() % 2 == 1) return *middle;
  return (*std::max_element(sorted.begin(), middle) + *middle) / 2;
}

double percentile(std::span<const double> samples, double percent) {
  std::vector<double> sorted(samples.begin(), samples.end());
  // n x percent is exact for whole percents, so the ceiling does not depend on rounding.
  const double rank = std::ceil(static_cast<double>(sorted.size()) * percent / 100.0);
  const auto place = sorted.begin() + static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::nth_element(sorted.begin(), place, sorted.end());
  return *place;
}

}  // namespace ringside
