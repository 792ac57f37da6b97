// SPDX-License-Identifier: MIT
/// Which calls become graphs.
#include "ringside/collectives/executors/cuda/graph_cache.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "ringside/tests/fakecuda/control.hpp"

namespace ringside::cuda {
namespace {

using tests::fakecuda::Control;

class Cached : public testing::Test {
 protected:
  void SetUp() override {
    if (!Control::present()) GTEST_SKIP() << "needs the test double";
    Control::reset();
  }
  /// A call with the n-th buffer; whether it is a graph.
  bool call(GraphCache& cache, std::uintptr_t buffer) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address that nobody follows
    const RankCall rank{.input = reinterpret_cast<const std::byte*>(buffer * 256)};
    const auto make = [&] {
      ++made_;
      cudaGraph_t graph = nullptr;
      check(cudaGraphCreate(&graph, 0), "cudaGraphCreate", 0);
      const Graph owned(graph, 0);
      cudaGraphExec_t executable = nullptr;
      check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate", 0);
      return GraphExec(executable, 0);
    };
    return cache.get(1, std::span(&rank, 1), make) != nullptr;
  }
  int made_ = 0;
};

TEST_F(Cached, ACallIsAGraphFromItsNthTimeOnHoweverManyOthersComeBetween) {
  GraphCache cache(3, 4);
  for (int time = 1; time <= 5; ++time) {
    EXPECT_EQ(call(cache, 1), time >= 3) << time;
    for (std::uintptr_t other = 0; other < 1000; ++other)
      (void)call(cache, 1000 * static_cast<std::uintptr_t>(time) + 10 + other);
  }
  EXPECT_EQ(made_, 1);
}

TEST_F(Cached, NoCallIsAGraphWhereThereAreToBeNone) {
  GraphCache cache(0);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(call(cache, 1));
}

TEST_F(Cached, BuffersInTurnMoreThanThereIsRoomForDoNotTakeEachOthersPlace) {
  for (const std::uintptr_t buffers : {140u, 1000u}) {
    made_ = 0;
    GraphCache cache(1, 128);
    for (int round = 0; round < 20; ++round)
      for (std::uintptr_t buffer = 0; buffer < buffers; ++buffer) (void)call(cache, buffer);
    EXPECT_EQ(made_, 128) << buffers;
    EXPECT_EQ(cache.size(), 128u);
  }
}

TEST_F(Cached, BuffersThatAreUsedTakeThePlaceOfThoseThatAreNoLonger) {
  GraphCache cache(2, 8);
  for (int round = 0; round < 3; ++round)
    for (std::uintptr_t buffer = 0; buffer < 8; ++buffer) (void)call(cache, buffer);
  for (int round = 0; round < 3; ++round)
    for (std::uintptr_t buffer = 100; buffer < 108; ++buffer) (void)call(cache, buffer);
  for (std::uintptr_t buffer = 100; buffer < 108; ++buffer) EXPECT_TRUE(call(cache, buffer));
  EXPECT_EQ(cache.size(), 8u);
  EXPECT_EQ(made_, 16);
}

TEST_F(Cached, GraphsGoWithTheCache) {
  {
    GraphCache cache(1, 2);
    for (std::uintptr_t buffer = 0; buffer < 5; ++buffer)
      for (int i = 0; i < 3; ++i) (void)call(cache, buffer);
    EXPECT_EQ(Control::leaks().size(), 2u);
  }
  EXPECT_TRUE(Control::leaks().empty());
}

}  // namespace
}  // namespace ringside::cuda
