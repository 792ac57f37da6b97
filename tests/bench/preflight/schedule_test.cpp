// SPDX-License-Identifier: MIT
/// Which steps a preflight has, and which it leaves out after a failure.
#include "ringside/bench/preflight/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "ringside/tests/bench/preflight/machines.hpp"

namespace ringside::tests {
namespace {

using namespace bench::preflight;

std::size_t count_if(const std::vector<Step>& steps, const std::function<bool(const Step&)>& is) {
  return static_cast<std::size_t>(std::count_if(steps.begin(), steps.end(), is));
}

/// The ordered pairs with a single flow of this kind.
std::set<Flow> pairs_with(const std::vector<Step>& steps, Quantity quantity, Method method,
                          bool access) {
  std::set<Flow> flows;
  for (const auto& step : steps)
    if (step.quantity == quantity && step.method == method && step.peer_access == access &&
        step.traffic == Traffic::one_way && step.flows[0].source != step.flows[0].destination)
      flows.insert(step.flows[0]);
  return flows;
}

TEST(PreflightSchedule, EveryOrderedPairIsCheckedAndTimedByEveryMethod) {
  for (const int count : {2, 3, 8}) {
    const auto steps = steps_of(machine_of(count), {});
    const auto pairs = static_cast<std::size_t>(count * (count - 1));
    for (const auto quantity : {Quantity::check, Quantity::bandwidth}) {
      EXPECT_EQ(pairs_with(steps, quantity, Method::peer_copy, false).size(), pairs);
      for (const auto method : {Method::peer_copy, Method::kernel_store, Method::kernel_load})
        EXPECT_EQ(pairs_with(steps, quantity, method, true).size(), pairs);
    }
    EXPECT_EQ(pairs_with(steps, Quantity::latency, Method::peer_copy, false).size(), pairs);
    EXPECT_EQ(pairs_with(steps, Quantity::latency, Method::peer_copy, true).size(), pairs);
    EXPECT_EQ(count_if(steps, [](const Step& step) { return step.traffic == Traffic::all_to_all; }),
              4U)
        << "checked and timed, with P2P and without";
  }
}

TEST(PreflightSchedule, NoKernelGoesWhereItMayNotAndNoCheckComesAfterATime) {
  const auto none = steps_of(machine_of(4, false), {});
  EXPECT_EQ(count_if(none, [](const Step& step) { return step.peer_access; }), 0U);
  EXPECT_EQ(count_if(none,
                     [](const Step& step) {
                       return step.method == Method::kernel_store ||
                              step.method == Method::kernel_load;
                     }),
            0U);
  EXPECT_TRUE(std::is_sorted(none.begin(), none.end(), [](const Step& a, const Step& b) {
    return a.quantity == Quantity::check && b.quantity != Quantity::check;
  }));
}

TEST(PreflightSchedule, OneWayAccessAllowsOneOfStoreAndLoad) {
  auto facts = machine_of(2, false);
  facts.peers[0].can_access = true;  // 0 may access 1
  const auto steps = steps_of(facts, {});
  const std::set<Flow> from_0 = {{0, 1}}, from_1 = {{1, 0}};
  EXPECT_EQ(pairs_with(steps, Quantity::check, Method::kernel_store, true), from_0);
  EXPECT_EQ(pairs_with(steps, Quantity::check, Method::kernel_load, true), from_1);
}

TEST(PreflightSchedule, OneDeviceHasItselfAndTheHost) {
  const auto steps = steps_of(machine_of(1), {});
  EXPECT_GT(steps.size(), 5U);
  for (const auto& step : steps)
    for (const auto& flow : step.flows)
      EXPECT_TRUE(flow.touches_host() || flow.source == flow.destination) << to_string(step);
}

TEST(PreflightSchedule, TheSamplesOfEightDevicesFitIntoTheTime) {
  const Request request;
  Seconds sum{0};
  for (const auto& step : steps_of(machine_of(8), request)) sum += 6 * step.time;
  EXPECT_LT(sum, request.total);
  EXPECT_GT(sum, 0.2 * request.total);
}

TEST(PreflightSchedule, QuickTakesLess) {
  const auto all = steps_of(machine_of(4), {});
  const auto few = steps_of(machine_of(4), {.quick = true});
  EXPECT_LT(few.size(), all.size());
  const auto largest = [](const std::vector<Step>& steps) {
    std::uint64_t most = 0;
    for (const auto& step : steps) most = std::max(most, step.bytes);
    return most;
  };
  EXPECT_LT(largest(few), largest(all));
}

Step step_with(std::vector<Flow> flows, bool access, Traffic traffic = Traffic::one_way,
               Method method = Method::peer_copy) {
  return {Quantity::check, traffic, method, access, std::move(flows), 8, Seconds(0)};
}

TEST(PreflightSchedule, AFlowThatHungIsNotTriedAgainTheSameWay) {
  Outcome hang;
  hang.ending = Ending::hang;
  const std::vector<Result> results = {{step_with({{0, 1}}, true), hang}};
  EXPECT_EQ(obstacle(step_with({{0, 1}}, true), results),
            "0 -> 1, peer_copy, P2P enabled hung before");
  EXPECT_TRUE(obstacle(step_with({{1, 0}, {0, 1}}, true, Traffic::pairs), results));
  EXPECT_FALSE(obstacle(step_with({{0, 1}}, false), results)) << "P2P disabled is another way";
  EXPECT_FALSE(obstacle(step_with({{1, 0}}, true), results)) << "so is the other direction";
  EXPECT_FALSE(
      obstacle(step_with({{0, 1}}, true, Traffic::one_way, Method::kernel_store), results));
}

TEST(PreflightSchedule, ManyFlowsThatHungTogetherBlockOnlyTheirLike) {
  Outcome hang;
  hang.ending = Ending::hang;
  const std::vector<Result> results = {{step_with({{0, 1}, {1, 0}}, true, Traffic::ring), hang}};
  EXPECT_TRUE(obstacle(step_with({{0, 1}, {1, 0}}, true, Traffic::ring), results));
  EXPECT_FALSE(obstacle(step_with({{0, 1}}, true), results));
  EXPECT_FALSE(obstacle(step_with({{0, 1}, {1, 0}}, true, Traffic::all_to_all), results));
}

TEST(PreflightSchedule, WrongDataIsNoObstacle) {
  Outcome wrong;
  wrong.verdicts.resize(1);
  wrong.verdicts[0].arrival = Arrival::lost;
  EXPECT_FALSE(obstacle(step_with({{0, 1}}, true), {{step_with({{0, 1}}, true), wrong}}));
}

}  // namespace
}  // namespace ringside::tests
