// SPDX-License-Identifier: MIT
#include "ringside/bench/intervals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ringside/base/statistics.hpp"

namespace ringside::bench {
namespace {

std::vector<double> sorted(std::span<const double> samples) {
  std::vector<double> copy(samples.begin(), samples.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

/// The counts of all values of U among the orders of both groups, as probabilities:
/// f(a, b, u) = a / (a + b) f(a - 1, b, u - b) + b / (a + b) f(a, b - 1, u).
std::vector<double> mann_whitney_probabilities(std::size_t first, std::size_t second) {
  std::vector<std::vector<double>> of_a(first + 1, std::vector<double>{1.0});  // b = 0
  for (std::size_t b = 1; b <= second; ++b)
    for (std::size_t a = 1; a <= first; ++a) {
      std::vector<double> next(a * b + 1, 0.0);
      const double share = static_cast<double>(a) / static_cast<double>(a + b);
      const auto& before_b = of_a[a];      // still of b - 1
      const auto& before_a = of_a[a - 1];  // of b already
      for (std::size_t u = 0; u < before_b.size(); ++u) next[u] += (1 - share) * before_b[u];
      for (std::size_t u = 0; u < before_a.size(); ++u) next[u + b] += share * before_a[u];
      of_a[a] = std::move(next);
    }
  return of_a[first];
}

}  // namespace

Interval median_interval(std::span<const double> samples, double confidence) {
  const auto order = sorted(samples);
  const std::size_t n = order.size();
  double tail = std::pow(0.5, static_cast<double>(n));  // P(none below the median)
  double sum = tail;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (2 * tail > 1 - confidence) return {-infinity, infinity};
  std::size_t left_out = 0;  // at either end
  while (2 * (left_out + 1) < n) {
    // P(at most left_out + 1 below), should one more be left out.
    tail *= static_cast<double>(n - left_out) / static_cast<double>(left_out + 1);
    if (2 * (sum + tail) > 1 - confidence) break;
    sum += tail;
    ++left_out;
  }
  return {order[left_out], order[n - 1 - left_out]};
}

double mann_whitney_tail(std::size_t first, std::size_t second, std::size_t most) {
  const auto probabilities = mann_whitney_probabilities(first, second);
  double sum = 0;
  for (std::size_t u = 0; u <= most && u < probabilities.size(); ++u) sum += probabilities[u];
  return sum;
}

Shift shift_between(std::span<const double> first, std::span<const double> second,
                    double confidence) {
  std::vector<double> differences;
  differences.reserve(first.size() * second.size());
  for (const double a : first)
    for (const double b : second) differences.push_back(b - a);
  std::sort(differences.begin(), differences.end());
  Shift shift;
  shift.estimate = median(differences);

  const auto probabilities = mann_whitney_probabilities(first.size(), second.size());
  double tail = 0;
  std::size_t left_out = 0;  // differences at either end
  while (2 * left_out < differences.size() &&
         2 * (tail + probabilities[left_out]) <= 1 - confidence)
    tail += probabilities[left_out++];
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (left_out == 0)
    shift.interval = {-infinity, infinity};
  else
    shift.interval = {differences[left_out - 1], differences[differences.size() - left_out]};
  return shift;
}

}  // namespace ringside::bench
