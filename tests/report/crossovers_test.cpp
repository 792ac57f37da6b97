// SPDX-License-Identifier: MIT
/// Where the fastest line changes.
#include "ringside/tools/report/crossovers.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace ringside::tests {
namespace {

using report::Crossover;
using report::Series;

/// Bytes and microseconds.
Series line(std::vector<std::pair<std::uint64_t, double>> points) {
  Series series;
  for (const auto& [bytes, us] : points)
    series.points.push_back({.bytes = bytes, .us = us, .busbw = 1});
  return series;
}

std::vector<Crossover> between(const std::vector<Series>& series) {
  return report::crossovers(series);
}

TEST(Crossovers, LinesOnLogarithmicAxesCrossWhereTheyAreDrawnToCross) {
  // A latency of 10 us against one of 40 us: equal where both say 20 us, in the middle of 1K and
  // 4K.
  const auto found = between({line({{1024, 10}, {4096, 40}}), line({{1024, 20}, {4096, 20}})});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0].bytes, 2048, 1e-6);
  EXPECT_NEAR(found[0].us, 20, 1e-9);
  EXPECT_EQ(found[0].below, 0U);
  EXPECT_EQ(found[0].above, 1U);
}

TEST(Crossovers, LieBetweenTheNearestSizesThatThereAre) {
  const auto found = between({line({{8, 9}, {1024, 10}, {4096, 40}, {8192, 80}}),
                              line({{8, 20}, {1024, 20}, {4096, 21}, {8192, 21}})});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].before, 1024U);
  EXPECT_EQ(found[0].behind, 4096U);
}

TEST(Crossovers, WhoIsFastestEverywhereCrossesNobody) {
  EXPECT_TRUE(
      between({line({{8, 1}, {64, 2}, {512, 3}}), line({{8, 2}, {64, 4}, {512, 9}})}).empty());
}

TEST(Crossovers, EveryChangeOfTheFastestIsOne) {
  const auto found =
      between({line({{8, 1}, {64, 5}, {512, 1}}), line({{8, 2}, {64, 3}, {512, 2}})});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].above, 1U);
  EXPECT_EQ(found[1].above, 0U);
  EXPECT_LT(found[0].bytes, found[1].bytes);
}

TEST(Crossovers, LinesBehindTheFastestDoNotCount) {
  const auto found =
      between({line({{8, 1}, {64, 1}}), line({{8, 2}, {64, 4}}), line({{8, 3}, {64, 2}})});
  EXPECT_TRUE(found.empty());
}

TEST(Crossovers, WhatWasNotMeasuredOnBothSidesIsUnknown) {
  EXPECT_TRUE(between({line({{8, 1}}), line({{64, 2}})}).empty());
  EXPECT_TRUE(between({}).empty());
  EXPECT_TRUE(between({line({})}).empty());
}

TEST(Crossovers, OverlappingSpreadsAreNotClear) {
  auto falling = line({{8, 10}, {64, 40}}), rising = line({{8, 20}, {64, 20}});
  EXPECT_TRUE(between({falling, rising})[0].clear);
  rising.points[0].least = 9;  // at 8 bytes it may as well be the faster one
  rising.points[0].most = 30;
  EXPECT_FALSE(between({falling, rising})[0].clear);
}

}  // namespace
}  // namespace ringside::tests
