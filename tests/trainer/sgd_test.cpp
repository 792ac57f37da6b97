// SPDX-License-Identifier: MIT
/// Updates against the formula by hand, and rates over time.
#include "ringside/trainer/sgd.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace ringside::tests {
namespace {

using trainer::Memory;
using trainer::RateSchedule;

Memory memory_of(std::vector<double>& numbers) {
  return {numbers.data(), numbers.size(), ElementType::float64};
}

TEST(Sgd, DividesTheSumByTheSamplesOnce) {
  std::vector<double> parameters = {1, 2}, gradients = {8, -4};
  trainer::update(memory_of(parameters), memory_of(gradients), {}, {.rate = 0.5, .samples = 4});
  EXPECT_DOUBLE_EQ(parameters[0], 1 - 0.5 * 2);
  EXPECT_DOUBLE_EQ(parameters[1], 2 + 0.5 * 1);
}

TEST(Sgd, KeepsMomentumAndShrinksWeights) {
  std::vector<double> parameters = {1}, gradients = {2}, velocity = {0};
  const trainer::SgdStep step{.rate = 0.1, .samples = 2, .momentum = 0.9, .decay = 0.01};
  double p = 1, v = 0;
  for (int i = 0; i < 3; ++i) {
    trainer::update(memory_of(parameters), memory_of(gradients), memory_of(velocity), step);
    v = 0.9 * v + (1 + 0.01 * p);
    p -= 0.1 * v;
    EXPECT_DOUBLE_EQ(parameters[0], p);
    EXPECT_DOUBLE_EQ(velocity[0], v);
  }
}

TEST(RateSchedule, GrowsLinearlyAndStays) {
  const RateSchedule schedule{0.1, 0.4, 3};
  EXPECT_DOUBLE_EQ(schedule.at(0), 0.2);
  EXPECT_DOUBLE_EQ(schedule.at(1), 0.3);
  EXPECT_DOUBLE_EQ(schedule.at(2), 0.4);
  EXPECT_DOUBLE_EQ(schedule.at(1000), 0.4);
  EXPECT_DOUBLE_EQ((RateSchedule{0, 0.2, 0}).at(0), 0.2);
}

}  // namespace
}  // namespace ringside::tests
