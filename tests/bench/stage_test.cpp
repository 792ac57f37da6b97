// SPDX-License-Identifier: MIT
/// Where the buffers of a call lie, in every placement and for buffers that move.
#include "ringside/bench/host_stage.hpp"

#include <gtest/gtest.h>

#include <set>

namespace ringside::bench {
namespace {

Request request(Collective collective, int root = 0, bool in_place = true) {
  return {.collective = collective, .ranks = 4, .root = root, .in_place = in_place};
}

TEST(CallShape, InPlaceIsWhereNcclTestsHasIt) {
  constexpr std::size_t count = 10;
  const auto at = [&](Collective collective, int rank, int root = 0) {
    return call_shape(request(collective, root), rank, count);
  };
  // all_gather and gather: the input lies in the output, at the rank's block.
  EXPECT_EQ(at(Collective::all_gather, 3).input_at, 30U);
  EXPECT_EQ(at(Collective::all_gather, 3).output_at, 0U);
  EXPECT_EQ(at(Collective::gather, 2, 2).input_at, 20U);
  // reduce_scatter and scatter: the output lies in the input.
  EXPECT_EQ(at(Collective::reduce_scatter, 1).output_at, 10U);
  EXPECT_EQ(at(Collective::reduce_scatter, 1).input_at, 0U);
  EXPECT_EQ(at(Collective::scatter, 3, 3).output_at, 30U);
  for (const auto collective :
       {Collective::all_reduce, Collective::broadcast, Collective::reduce}) {
    EXPECT_EQ(at(collective, 0).input_at, 0U);
    EXPECT_EQ(at(collective, 0).output_at, 0U);
    EXPECT_TRUE(at(collective, 0).shared);
  }
  // Who has only one of the two has nothing in place.
  EXPECT_FALSE(at(Collective::gather, 1, 2).shared);
  EXPECT_EQ(at(Collective::gather, 1, 2).output, 0U);
  EXPECT_EQ(at(Collective::scatter, 1, 2).input, 0U);
}

TEST(CallShape, LengthsAreThoseOfTheBlocksHeld) {
  const auto shape = call_shape(request(Collective::all_to_all, 0, false), 2, 10);
  EXPECT_EQ(shape.input, 40U);
  EXPECT_EQ(shape.output, 40U);
  EXPECT_EQ(call_shape(request(Collective::all_gather, 0, false), 2, 10).input, 10U);
  EXPECT_EQ(call_shape(request(Collective::all_gather, 0, false), 2, 10).output, 40U);
  EXPECT_EQ(call_shape(request(Collective::all_gather), 2, 10).memory(true), 40U);
  EXPECT_EQ(call_shape(request(Collective::reduce_scatter), 2, 10).memory(true), 40U);
}

TEST(Stage, WarmBuffersStay) {
  BenchRequest bench;
  HostStage stage(request(Collective::all_gather), 1600, bench);
  const auto shape = call_shape(stage.request(Placement::in_place), 1, 100);
  const auto first = stage.memory(1, Placement::in_place, shape, 4, 0);
  EXPECT_EQ(first.input, first.output + 400);
  EXPECT_EQ(stage.memory(1, Placement::in_place, shape, 4, 1).output, first.output);
}

TEST(Stage, ColdBuffersMoveThroughTheirPoolAndStayInsideIt) {
  constexpr std::size_t pool = 1 << 20;
  BenchRequest bench;
  bench.buffers = Buffers::cold;
  bench.cold_bytes = pool;
  HostStage stage(request(Collective::all_reduce), 10'000, bench);
  for (const auto placement : placements) {
    const auto shape = call_shape(stage.request(placement), 0, 2500);
    std::set<std::byte*> places;
    for (std::uint64_t turn = 0; turn < 1000; ++turn)
      places.insert(stage.memory(0, placement, shape, 4, turn).output);
    EXPECT_GT(places.size() * 20'000, pool);  // 10,000 bytes in 4 to 5 pages
    EXPECT_LE(*places.rbegin() - *places.begin(), static_cast<std::ptrdiff_t>(pool));
    EXPECT_GE(*std::next(places.begin()) - *places.begin(), 10'000);
  }
  EXPECT_GE(HostStage::bytes_needed(request(Collective::all_reduce), 10'000, bench),
            4 * 2 * (pool + 10'000));
}

TEST(Stage, ColdPoolsExceedTheCachesTogether) {
  constexpr std::uint64_t cache = 32 << 20;
  EXPECT_EQ(cold_pool(2, 8, cache), 2 * cache);  // each may have a cache of its own
  EXPECT_EQ(cold_pool(16, 8, cache) * 16, 8 * 2 * cache);
}

}  // namespace
}  // namespace ringside::bench
