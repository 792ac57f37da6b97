// SPDX-License-Identifier: MIT
/// Moments of ranks' values combine to those of all values.
#include "ringside/trainer/batch_norm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ringside::tests {
namespace {

using trainer::Moments;

/// By their definition, of one channel.
Moments moments_of(const std::vector<double>& values) {
  Moments own{static_cast<double>(values.size()), {0}, {0}};
  for (const double value : values) own.mean[0] += value / own.count;
  for (const double value : values) own.squares[0] += std::pow(value - own.mean[0], 2);
  return own;
}

Moments combined_of(const std::vector<std::vector<double>>& ranks) {
  std::vector<double> all;
  for (const auto& values : ranks) {
    const auto own = told(moments_of(values));
    all.insert(all.end(), own.begin(), own.end());
  }
  return trainer::combined(all, 1);
}

TEST(Moments, OfRanksAreThoseOfAllValues) {
  const Moments all = combined_of({{1, 2, 4}, {}, {-3}, {10, 11, 12, 13}});
  const Moments expected = moments_of({1, 2, 4, -3, 10, 11, 12, 13});
  EXPECT_EQ(all.count, 8);
  EXPECT_NEAR(all.mean[0], expected.mean[0], 1e-14);
  EXPECT_NEAR(all.squares[0], expected.squares[0], 1e-12);
  EXPECT_NEAR(all.variance(0), expected.squares[0] / 8, 1e-13);
  EXPECT_NEAR(all.unbiased_variance(0), expected.squares[0] / 7, 1e-13);
}

TEST(Moments, KeepASmallVarianceFarFromZero) {
  // The difference of E[x^2] and E[x]^2 has nothing left of it: 1e18 has 3 digits behind 1e3.
  const double far = 1e9;
  const Moments all = combined_of({{far, far + 1}, {far + 2, far + 3}});
  EXPECT_NEAR(all.variance(0), 1.25, 1e-9);
}

TEST(Moments, GoChannelByChannel) {
  const std::vector<double> two_ranks = {1, 5, 6, 0, 0, 1, 7, 6, 0, 0};
  const Moments all = trainer::combined(two_ranks, 2);
  EXPECT_EQ(all.count, 2);
  EXPECT_EQ(all.mean, (std::vector<double>{6, 6}));
  EXPECT_EQ(all.squares, (std::vector<double>{2, 0}));
}

TEST(Sums, OfRanksAreElementByElement) {
  EXPECT_EQ(trainer::summed(std::vector<double>{1, 2, 10, 20, 100, 200}, 2),
            (std::vector<double>{111, 222}));
}

}  // namespace
}  // namespace ringside::tests
