// SPDX-License-Identifier: MIT
/// What simulate_test.cpp samples, in full.
#include <gtest/gtest.h>

#include "sweeps.hpp"

namespace ringside::tests {
namespace {

TEST(SimulationSweep, EqualsAnIndependentOneOfStoredPlans) {
  expect_simulations_equal_the_reference(1, 2000);
}

TEST(SimulationSweep, IsNeverBelowABoundThatNoPlanCanBeat) {
  expect_simulations_keep_the_bounds(1, 2000);
}

TEST(SimulationSweep, OfManySlicesEnds) { expect_many_slices_end(1, 500); }

}  // namespace
}  // namespace ringside::tests
