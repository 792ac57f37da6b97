// SPDX-License-Identifier: MIT
/// The order of samples, and batches that are made ahead.
#include "ringside/trainer/data/sampler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/trainer/data/prefetch.hpp"
#include "ringside/trainer/random.hpp"

namespace ringside::tests {
namespace {

using trainer::Batch;
using trainer::EpochOrder;
using trainer::Prefetcher;

std::vector<std::uint32_t> all_of(const EpochOrder& order) {
  std::vector<std::uint32_t> all;
  for (std::size_t step = 0; step < order.steps(); ++step)
    all.insert(all.end(), order.step(step).begin(), order.step(step).end());
  return all;
}

TEST(EpochOrder, HasEverySampleOnceAndTheRestInTheLastStep) {
  const EpochOrder order(1003, 100, 7, 2);
  EXPECT_EQ(order.steps(), 11U);
  EXPECT_EQ(order.step(10).size(), 3U);
  auto all = all_of(order);
  std::sort(all.begin(), all.end());
  for (std::uint32_t i = 0; i < 1003; ++i) ASSERT_EQ(all[i], i);
}

TEST(EpochOrder, IsTheSameForASeedAndEpochAndAnotherForOthers) {
  const auto order = all_of(EpochOrder(500, 50, 7, 2));
  EXPECT_EQ(order, all_of(EpochOrder(500, 50, 7, 2)));
  EXPECT_EQ(order, all_of(EpochOrder(500, 3, 7, 2))) << "whatever the batch";
  EXPECT_NE(order, all_of(EpochOrder(500, 50, 7, 3)));
  EXPECT_NE(order, all_of(EpochOrder(500, 50, 8, 2)));
}

TEST(EpochOrder, PutsEverySampleAnywhere) {
  // Mean place of each of 5 samples over 2000 epochs: 2, spread sqrt(2 / 2000) = 0.03.
  std::vector<double> places(5);
  for (std::uint64_t epoch = 0; epoch < 2000; ++epoch) {
    const auto order = all_of(EpochOrder(5, 5, 1, epoch));
    for (std::size_t place = 0; place < 5; ++place)
      places[order[place]] += static_cast<double>(place) / 2000;
  }
  for (const double place : places) EXPECT_NEAR(place, 2.0, 0.2);
}

TEST(Random, HasTheMomentsOfANormalDistribution) {
  trainer::Random random(1);
  double sum = 0, squares = 0;
  constexpr int count = 100'000;
  for (int i = 0; i < count; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(squares / count, 1, 0.03);
}

TEST(Random, StaysBelowItsBoundAndReachesIt) {
  trainer::Random random(9);
  std::vector<int> seen(3);
  for (int i = 0; i < 300; ++i) ++seen.at(random.below(3));
  for (const int count : seen) EXPECT_GT(count, 50);
}

/// Gives batches of 1, 2, ... labels.
Prefetcher::Make counting(std::size_t last) {
  return [last, next = std::size_t{0}]() mutable -> std::optional<Batch> {
    if (++next > last) return std::nullopt;
    return Batch{{}, std::vector<std::uint8_t>(next)};
  };
}

class Prefetch : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Prefetch, KeepsTheOrder) {
  Prefetcher batches(counting(20), GetParam());
  for (std::size_t i = 1; i <= 20; ++i) EXPECT_EQ(batches.next().labels.size(), i);
  EXPECT_THROW((void)batches.next(), Error);
}

TEST_P(Prefetch, EndsInTheMiddle) {
  Prefetcher batches(counting(1000), GetParam());
  EXPECT_EQ(batches.next().labels.size(), 1U);
}

TEST_P(Prefetch, HandsOnWhatWentWrong) {
  Prefetcher batches([]() -> std::optional<Batch> { throw std::runtime_error("lost"); },
                     GetParam());
  EXPECT_THROW((void)batches.next(), std::runtime_error);
}

INSTANTIATE_TEST_SUITE_P(Ahead, Prefetch, ::testing::Values(0, 1, 3));

}  // namespace
}  // namespace ringside::tests
