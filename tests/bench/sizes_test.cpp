// SPDX-License-Identifier: MIT
/// The sizes of a sweep: where they begin and end, and what is refused.
#include "ringside/bench/sizes.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "ringside/base/error.hpp"

namespace ringside::bench {
namespace {

using Sizes = std::vector<std::uint64_t>;

TEST(Sizes, AFactorMultipliesAndTheEndIsIncluded) {
  EXPECT_EQ(sizes_of({.begin = 8, .end = 512, .factor = 8, .step = 0}), (Sizes{8, 64, 512}));
  EXPECT_EQ(sizes_of({.begin = 8, .end = 511, .factor = 8, .step = 0}), (Sizes{8, 64}));
}

TEST(Sizes, AStepAddsUnlessThereIsAFactor) {
  EXPECT_EQ(sizes_of({.begin = 8, .end = 40, .factor = 0, .step = 16}), (Sizes{8, 24, 40}));
  EXPECT_EQ(sizes_of({.begin = 8, .end = 39, .factor = 1, .step = 16}), (Sizes{8, 24}));
  EXPECT_EQ(sizes_of({.begin = 8, .end = 40, .factor = 2, .step = 16}), (Sizes{8, 16, 32}));
  EXPECT_EQ(sizes_of({.begin = 0, .end = 8, .factor = 0, .step = 4}), (Sizes{0, 4, 8}));
}

TEST(Sizes, OneSizeNeedsNeither) {
  EXPECT_EQ(sizes_of({.begin = 100, .end = 100, .factor = 0, .step = 0}), (Sizes{100}));
  EXPECT_EQ(sizes_of({.begin = 0, .end = 0, .factor = 8, .step = 0}), (Sizes{0}));
}

TEST(Sizes, TheLargestNumbersDoNotWrapRound) {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(sizes_of({.begin = most / 2 + 1, .end = most, .factor = 2, .step = 0}).size(), 1U);
  EXPECT_EQ(sizes_of({.begin = most - 5, .end = most, .factor = 0, .step = 4}),
            (Sizes{most - 5, most - 1}));
}

TEST(Sizes, RangesThatMakeNoSenseAreRefused) {
  const std::vector<SizeRange> bad = {
      {.begin = 8, .end = 4, .factor = 2, .step = 0},
      {.begin = 8, .end = 16, .factor = 1, .step = 0},
      {.begin = 8, .end = 16, .factor = 0, .step = 0},
      {.begin = 0, .end = 16, .factor = 2, .step = 0},
      {.begin = 0, .end = 1U << 30, .factor = 0, .step = 1},
  };
  for (const auto& range : bad) {
    try {
      (void)sizes_of(range);
      ADD_FAILURE() << range.begin << " to " << range.end << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_input);
    }
  }
}

}  // namespace
}  // namespace ringside::bench
