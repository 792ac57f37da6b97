// SPDX-License-Identifier: MIT
/// Medians and percentiles against hand-counted ones.
#include "ringside/base/statistics.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace ringside {
namespace {

TEST(Statistics, MedianIsTheMiddleOrTheMeanOfTheTwoMiddleSamples) {
  EXPECT_EQ(median(std::vector{7.0}), 7.0);
  EXPECT_EQ(median(std::vector{9.0, 1.0, 5.0}), 5.0);
  EXPECT_EQ(median(std::vector{4.0, 1.0, 9.0, 2.0}), 3.0);
  EXPECT_EQ(median(std::vector{2.0, 2.0, 2.0, 100.0}), 2.0);
}

TEST(Statistics, ExtremesAndMean) {
  const std::vector samples = {3.0, -1.0, 10.0};
  EXPECT_EQ(minimum(samples), -1.0);
  EXPECT_EQ(maximum(samples), 10.0);
  EXPECT_EQ(mean(samples), 4.0);
}

TEST(Statistics, PercentileIsTheNearestRankOfNcclTests) {
  std::vector<double> samples(100);
  std::iota(samples.rbegin(), samples.rend(), 1.0);  // 100 .. 1
  EXPECT_EQ(percentile(samples, 95), 95.0);          // sorted[ceil(95) - 1]
  EXPECT_EQ(percentile(samples, 100), 100.0);
  EXPECT_EQ(percentile(samples, 1), 1.0);
  EXPECT_EQ(percentile(samples, 0.1), 1.0);
  EXPECT_EQ(percentile(std::vector{5.0}, 95), 5.0);
  // ceil(20 x 0.95) = 19: the last but one; ceil(21 x 0.95) = 20: again the last but one.
  std::vector<double> twenty(20);
  std::iota(twenty.begin(), twenty.end(), 1.0);
  EXPECT_EQ(percentile(twenty, 95), 19.0);
  twenty.push_back(21.0);
  EXPECT_EQ(percentile(twenty, 95), 20.0);
}

}  // namespace
}  // namespace ringside
