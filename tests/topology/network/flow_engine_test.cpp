// SPDX-License-Identifier: MIT
/// The flow engine against what can be worked out by hand, and its accounts.
#include "ringside/topology/network/flow_engine.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

using Token = FlowEngine::Token;

constexpr double gigabyte = 1e9;

/// Runs to the end; when what ended.
std::map<Token, double> run(FlowEngine& engine) {
  std::map<Token, double> ends;
  std::vector<Token> ended;
  while (engine.advance(ended))
    for (const Token token : ended) ends[token] = engine.now();
  return ends;
}

PathId path(FlowEngine& engine, std::vector<Use> uses) { return engine.add_path(uses); }

std::vector<Resource> links(int count, double capacity) {
  std::vector<Resource> made;
  for (int i = 0; i < count; ++i) made.push_back({.name = "link", .capacity = capacity});
  return made;
}

TEST(FlowEngine, OneFlowTakesBytesOverCapacityAfterItsDelay) {
  FlowEngine engine(links(1, 2 * gigabyte));
  engine.start(path(engine, {{0, 1}}), 4 * gigabyte, 0.5, 7);
  const auto ends = run(engine);
  EXPECT_EQ(ends.size(), 1);
  EXPECT_DOUBLE_EQ(ends.at(7), 2.5);
}

TEST(FlowEngine, AWeightOfTwoTakesTwice) {
  FlowEngine engine(links(1, gigabyte), {.usage = true});
  engine.start(path(engine, {{0, 2}}), gigabyte, 0, 0);
  EXPECT_DOUBLE_EQ(run(engine).at(0), 2);
  EXPECT_DOUBLE_EQ(engine.usage()[0].bytes, 2 * gigabyte);
}

TEST(FlowEngine, WeightedFlowsHaveEqualRatesNotEqualParts) {
  FlowEngine engine(links(1, 3 * gigabyte));
  engine.start(path(engine, {{0, 1}}), gigabyte, 0, 0);
  engine.start(path(engine, {{0, 2}}), gigabyte, 0, 1);
  const auto ends = run(engine);
  EXPECT_DOUBLE_EQ(ends.at(0), 1);
  EXPECT_DOUBLE_EQ(ends.at(1), 1);
}

TEST(FlowEngine, UsesOfOneResourceAddUpAndEqualPathsAreOne) {
  FlowEngine engine(links(2, gigabyte));
  const PathId twice = path(engine, {{1, 1}, {0, 1}, {1, 1}});
  EXPECT_EQ(twice, path(engine, {{0, 1}, {1, 2}}));
  EXPECT_NE(twice, path(engine, {{0, 1}, {1, 1}}));
  engine.start(twice, gigabyte, 0, 0);
  EXPECT_DOUBLE_EQ(run(engine).at(0), 2);
}

// Links 0..n-1 in a row; one flow goes over all of them, one over each.
TEST(FlowEngine, ParkingLot) {
  const int n = 5;
  FlowEngine engine(links(n, gigabyte));
  std::vector<Use> all;
  for (int i = 0; i < n; ++i) all.push_back({i, 1});
  engine.start(path(engine, all), gigabyte, 0, 100);
  for (int i = 0; i < n; ++i) engine.start(path(engine, {{i, 1}}), (i + 1) * gigabyte / 4, 0, i);
  const auto ends = run(engine);
  // Half of every link each, until the long one is alone on all; it never gets more before the
  // last of the others that share a full link with it has ended.
  EXPECT_DOUBLE_EQ(ends.at(0), 0.5);
  EXPECT_DOUBLE_EQ(ends.at(1), 1);
  EXPECT_DOUBLE_EQ(ends.at(2), 1.5);
  EXPECT_DOUBLE_EQ(ends.at(3), 2);
  EXPECT_DOUBLE_EQ(ends.at(100), 2);
  EXPECT_DOUBLE_EQ(ends.at(4), 2.25);
}

// Bertsekas and Gallager's example: what a flow cannot use others get.
TEST(FlowEngine, WhatAFlowCannotUseOthersGet) {
  FlowEngine engine(
      {{.name = "narrow", .capacity = gigabyte}, {.name = "wide", .capacity = 4 * gigabyte}});
  engine.start(path(engine, {{0, 1}, {1, 1}}), gigabyte, 0, 0);
  engine.start(path(engine, {{1, 1}}), 3 * gigabyte, 0, 1);
  const auto ends = run(engine);
  EXPECT_DOUBLE_EQ(ends.at(0), 1);
  EXPECT_DOUBLE_EQ(ends.at(1), 1);
}

// n hosts around a switch, an uplink and a downlink each; everyone sends to everyone else.
TEST(FlowEngine, AllToAllOverAStar) {
  const int n = 9;
  FlowEngine engine(links(2 * n, gigabyte));
  for (int from = 0; from < n; ++from)
    for (int to = 0; to < n; ++to)
      if (from != to)
        engine.start(path(engine, {{from, 1}, {n + to, 1}}), gigabyte, 1e-6, from * n + to);
  for (const auto& [token, end] : run(engine)) EXPECT_DOUBLE_EQ(end, 1e-6 + n - 1) << token;
}

// Everyone sends to the next, step after step: a flow starts when the one before has arrived.
TEST(FlowEngine, RingInDependencyOrderEndsEachStepAtOnce) {
  const int n = 16, steps = 2 * (n - 1);
  FlowEngine engine(links(2 * n, 3 * gigabyte));
  std::vector<PathId> paths;
  for (int i = 0; i < n; ++i) paths.push_back(path(engine, {{i, 1}, {n + (i + 1) % n, 1}}));
  for (int i = 0; i < n; ++i)
    engine.start(paths[static_cast<std::size_t>(i)], gigabyte / 7, 1e-5, i);
  std::vector<Token> ended;
  int step = 0;
  while (engine.advance(ended)) {
    ++step;
    ASSERT_EQ(ended.size(), static_cast<std::size_t>(n));
    EXPECT_NEAR(engine.now(), step * (1e-5 + 1.0 / 21), 1e-12);
    for (int i = 0; i < n; ++i) {
      EXPECT_EQ(ended[static_cast<std::size_t>(i)], i);
      if (step < steps) engine.start(paths[static_cast<std::size_t>(i)], gigabyte / 7, 1e-5, i);
    }
  }
  EXPECT_EQ(step, steps);
}

TEST(FlowEngine, EfficiencyIsThatOfTheNumberOfFlows) {
  FlowEngine engine({{.name = "port", .capacity = gigabyte, .efficiency = {1, 0.8, 0.5}}});
  const PathId only = path(engine, {{0, 1}});
  for (int i = 0; i < 4; ++i) engine.start(only, (i + 1) * gigabyte, 0, i);
  const auto ends = run(engine);
  // 4 and 3 flows: half of the capacity; 2: 0.8 of it; the last one: all.
  EXPECT_DOUBLE_EQ(ends.at(0), 4 / 0.5);
  EXPECT_DOUBLE_EQ(ends.at(1), 8 + 3 / 0.5);
  EXPECT_DOUBLE_EQ(ends.at(2), 14 + 2 / 0.8);
  EXPECT_DOUBLE_EQ(ends.at(3), 16.5 + 1);
}

TEST(FlowEngine, NothingToMoveTakesTheDelayOnlyAndNoPart) {
  FlowEngine engine({{.name = "port", .capacity = gigabyte, .efficiency = {1, 0.5}}});
  const PathId only = path(engine, {{0, 1}});
  engine.start(only, gigabyte, 0, 0);
  engine.start(only, 0, 0.25, 1);
  engine.start_timer(0.75, 2);
  engine.start_timer(0, 3);
  const auto ends = run(engine);
  EXPECT_DOUBLE_EQ(ends.at(0), 1);
  EXPECT_DOUBLE_EQ(ends.at(1), 0.25);
  EXPECT_DOUBLE_EQ(ends.at(2), 0.75);
  EXPECT_DOUBLE_EQ(ends.at(3), 0);
}

TEST(FlowEngine, WhatNothingLimitsTakesNoTime) {
  const double infinite = std::numeric_limits<double>::infinity();
  FlowEngine engine(
      {{.name = "memory", .capacity = infinite}, {.name = "link", .capacity = gigabyte}},
      {.usage = true});
  engine.start(path(engine, {{0, 1}}), gigabyte, 0.5, 0);
  engine.start(path(engine, {}), gigabyte, 0, 1);
  engine.start(path(engine, {{0, 3}, {1, 1}}), gigabyte, 0, 2);
  const auto ends = run(engine);
  EXPECT_DOUBLE_EQ(ends.at(0), 0.5);
  EXPECT_DOUBLE_EQ(ends.at(1), 0);
  EXPECT_DOUBLE_EQ(ends.at(2), 1);
  EXPECT_DOUBLE_EQ(engine.usage()[0].bytes, 4 * gigabyte);
}

TEST(FlowEngine, WhatEndsAtOnceIsToldTogetherInTheOrderOfItsBeginnings) {
  FlowEngine engine(links(3, gigabyte));
  engine.start(path(engine, {{2, 1}}), 0.3 * gigabyte, 0, 30);
  engine.start(path(engine, {{1, 1}}), 0.1 * gigabyte, 0.1 + 0.1, 20);  // 0.2 + 0.1 is not 0.3
  engine.start_timer(0.3, 5);
  engine.start(path(engine, {{0, 1}}), 0.2 * gigabyte, 0.1, 10);
  std::vector<Token> ended;
  ASSERT_TRUE(engine.advance(ended));
  EXPECT_EQ(ended, (std::vector<Token>{30, 20, 5, 10}));
  EXPECT_FALSE(engine.advance(ended));
  EXPECT_TRUE(ended.empty());
}

TEST(FlowEngine, FlowsMayStartAtAnyMoment) {
  FlowEngine engine(links(1, gigabyte));
  const PathId only = path(engine, {{0, 1}});
  std::vector<Token> ended;
  EXPECT_FALSE(engine.advance(ended));
  engine.start(only, gigabyte, 0, 0);
  engine.start_timer(0.5, 1);
  ASSERT_TRUE(engine.advance(ended));
  EXPECT_EQ(ended, std::vector<Token>{1});
  engine.start(only, 0.25 * gigabyte, 0, 2);
  const auto ends = run(engine);
  EXPECT_DOUBLE_EQ(ends.at(2), 1);
  EXPECT_DOUBLE_EQ(ends.at(0), 1.25);
}

TEST(FlowEngine, UsageIsUpToNow) {
  FlowEngine engine(links(2, gigabyte), {.usage = true});
  engine.start(path(engine, {{0, 1}, {1, 0.5}}), gigabyte, 0.5, 0);
  engine.start_timer(1, 1);
  std::vector<Token> ended;
  ASSERT_TRUE(engine.advance(ended));
  std::vector<ResourceUsage> usage = engine.usage();
  EXPECT_DOUBLE_EQ(usage[0].bytes, 0.5 * gigabyte);
  EXPECT_DOUBLE_EQ(usage[0].busy, 0.5);
  EXPECT_DOUBLE_EQ(usage[0].saturated, 0.5);
  EXPECT_DOUBLE_EQ(usage[1].bytes, 0.25 * gigabyte);
  EXPECT_DOUBLE_EQ(usage[1].busy, 0.5);
  EXPECT_DOUBLE_EQ(usage[1].saturated, 0);
  run(engine);
  usage = engine.usage();
  EXPECT_DOUBLE_EQ(usage[0].bytes, gigabyte);
  EXPECT_DOUBLE_EQ(usage[0].saturated, 1);
}

TEST(FlowEngine, LimitsSayWhatHeldAFlowBackAndForHowLong) {
  FlowEngine engine(
      {{.name = "shared", .capacity = gigabyte}, {.name = "own", .capacity = 0.75 * gigabyte}},
      {.limits = true});
  engine.start(path(engine, {{0, 1}, {1, 1}}), 1.25 * gigabyte, 0, 0);
  engine.start(path(engine, {{0, 1}}), 0.5 * gigabyte, 0, 1);
  std::vector<Token> ended;
  ASSERT_TRUE(engine.advance(ended));
  ASSERT_EQ(ended, std::vector<Token>{1});
  ASSERT_EQ(engine.limits(1).size(), 1);
  EXPECT_EQ(engine.limits(1)[0], (Limit{0, 1}));
  ASSERT_TRUE(engine.advance(ended));
  ASSERT_EQ(engine.limits(0).size(), 2);
  EXPECT_EQ(engine.limits(0)[0], (Limit{0, 1}));
  EXPECT_EQ(engine.limits(0)[1], (Limit{1, 1}));
  EXPECT_TRUE(engine.limits(1).empty());
}

TEST(FlowEngine, AccountsAreEmptyUnlessAskedFor) {
  FlowEngine engine(links(1, gigabyte));
  engine.start(path(engine, {{0, 1}}), gigabyte, 0, 0);
  std::vector<Token> ended;
  ASSERT_TRUE(engine.advance(ended));
  EXPECT_TRUE(engine.limits(0).empty());
  EXPECT_TRUE(engine.usage().empty());
}

TEST(FlowEngine, RefusesWhatMakesNoSense) {
  const auto refused = [](const std::function<void()>& body, const std::string& words) {
    const Outcome outcome = outcome_of(body);
    EXPECT_EQ(outcome.code, ErrorCode::invalid_argument) << words;
    EXPECT_TRUE(outcome.says(words)) << outcome.what;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  refused([] { FlowEngine({{.name = "x", .capacity = 0}}); }, "x has a capacity of 0");
  refused([&] { FlowEngine({{.name = "x", .capacity = nan}}); }, "capacity of nan");
  refused(
      [] {
        FlowEngine({{.name = "x", .capacity = 1, .efficiency = {0.5, 0.6}}});
      },
      "x has an efficiency of 0.6 after 0.5");
  refused([] { FlowEngine({{.name = "x", .capacity = 1, .efficiency = {1.1}}}); }, "in (0, 1]");
  FlowEngine engine(links(1, gigabyte));
  refused([&] { path(engine, {{1, 1}}); }, "resource 1, but there are 1");
  refused([&] { path(engine, {{0, 0}}); }, "with weight 0");
  refused([&] { engine.start(0, 1, 0, 0); }, "no path 0");
  const PathId only = path(engine, {{0, 1}});
  refused([&] { engine.start(only, -1, 0, 0); }, "a flow of -1 bytes");
  refused([&] { engine.start(only, 1, -1, 0); }, "a delay of -1 s");
  refused([&] { engine.start_timer(nan, 0); }, "a delay of nan s");
}

}  // namespace
}  // namespace ringside::tests
