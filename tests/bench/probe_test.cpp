// SPDX-License-Identifier: MIT
/// Where the cores are and who else uses them.
#include <gtest/gtest.h>

#include "ringside/base/clock.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/bench/probe.hpp"

namespace ringside::bench {
namespace {

TEST(PingPong, TellsTheWayOfALineAndCanBeAskedAgain) {
  const auto cores = allowed_cpus();
  if (cores.size() < 2) GTEST_SKIP() << "one core only";
  PingPong ping_pong(cores[0], cores[1]);
  for (int i = 0; i < 3; ++i) {
    const double ns = ping_pong.one_way_ns();
    EXPECT_GT(ns, 1.0);  // light passes 30 cm in one
    EXPECT_LT(ns, 1e8);
  }
}

TEST(CpuTimes, OwnWorkCountsAsOwnAndAsBusy) {
  const auto before = read_cpu_times();
  volatile double sink = 0;
  while (process_cpu_seconds() - before.own < 0.1) sink = sink + 1;
  const auto after = read_cpu_times();
  EXPECT_GE(after.own - before.own, 0.1);
  EXPECT_GE(after.busy - before.busy, 0.05);  // told in steps
}

TEST(RoundWatch, EveryBlockHasTheProbesOnBothSidesOfIt) {
  RoundWatch watch(true);
  watch.begin_round();
  for (int i = 0; i < 3; ++i) watch.end_block(0);
  const auto facts = watch.end_round();
  ASSERT_EQ(facts.size(), 3U);
  for (std::size_t i = 0; i + 1 < 3; ++i)
    EXPECT_EQ(facts[i].probe_after_ns, facts[i + 1].probe_before_ns);
  EXPECT_EQ(facts[0].probe_before_ns > 0, allowed_cpu_count() >= 2);
  watch.begin_round();
  watch.end_block(0);
  EXPECT_EQ(watch.end_round().size(), 1U);
}

TEST(RoundWatch, WorkOfPeersIsNotForeign) {
  RoundWatch watch(true);
  watch.begin_round();
  watch.end_block(1e6);  // more than all cores can have done
  EXPECT_EQ(watch.end_round().at(0).foreign_cpu, 0);
}

TEST(RoundWatch, AnIdleOneNotesNothing) {
  RoundWatch watch(false);
  watch.begin_round();
  watch.end_block(1);
  EXPECT_TRUE(watch.end_round().empty());
}

}  // namespace
}  // namespace ringside::bench
