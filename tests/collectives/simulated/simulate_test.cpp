// SPDX-License-Identifier: MIT
/// Simulated times: closed forms, an independent simulation, bounds, and what is refused.
#include "ringside/collectives/executors/simulated/simulate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "machines.hpp"
#include "ringside/tests/collectives/plans_under_test.hpp"
#include "ringside/topology/bounds/bounds.hpp"
#include "sweeps.hpp"

namespace ringside::tests {
namespace {

using test::all_reduce;
using test::hand_made;
using test::input;
using test::output;
using test::OwnedOp;

constexpr double b = link_rate_of_simple;
constexpr std::size_t elements = 15'360'000;  // of all numbers of ranks and slices here a multiple
constexpr double bytes = 4.0 * elements;

SimulatedCall one_block(std::size_t length = elements) {
  return {.block_elements = {length}, .element_bytes = 4, .gpus = {}};
}

double seconds(const Machine& machine, const std::string& spec, int ranks,
               const SimulatedCall& call = one_block()) {
  return simulate(machine, parse_spec(spec), all_reduce(ranks), call).seconds;
}

void expect_exact(double time, double expected) { EXPECT_NEAR(time, expected, 1e-12 * expected); }

TEST(Simulation, OfARingOnAStarIsItsClosedForm) {
  for (const int n : {2, 3, 4, 5, 8})
    expect_exact(seconds(star(n), "ring", n), 2.0 * (n - 1) / n * bytes / b);
}

TEST(Simulation, OfARingCountsEveryStepsLatencyAndOverheads) {
  const SimpleCosts costs{.latency = 1.5, .op = 0.7, .wait = 0.4, .call = 3};
  for (const int n : {2, 4, 8}) {
    const int steps = 2 * (n - 1);
    // Ops read from the neighbour: there and back. All steps but the first wait for the neighbour.
    const double microseconds =
        costs.call + steps * (costs.op + 2 * costs.latency) + (steps - 1) * costs.wait;
    expect_exact(seconds(star(n, costs), "ring", n),
                 1e-6 * microseconds + 2.0 * (n - 1) / n * bytes / b);
  }
}

TEST(Simulation, OfNaiveOnAStarIsTwiceAllDataThroughOneLink) {
  for (const int n : {2, 3, 4, 8})
    expect_exact(seconds(star(n), "naive", n), 2.0 * (n - 1) * bytes / b);
}

TEST(Simulation, OfASlicedChainInARowIsThatOfItsPipeline) {
  for (const int n : {2, 3, 4, 8})
    for (const int slices : {1, 2, 8, 64})
      expect_exact(seconds(row(n), "chain:slices=" + std::to_string(slices), n),
                   (2.0 * (n - 1) + slices - 1) * bytes / slices / b);
}

TEST(Simulation, OfDirectAllToAllOnAStarSharesItsLinks) {
  constexpr int n = 4;
  const Request request{Collective::all_to_all, n, 0, false};
  const SimulatedCall call{.block_elements = std::vector<std::size_t>(n * n, elements / n),
                           .element_bytes = 4,
                           .gpus = {}};
  expect_exact(simulate(star(n), parse_spec("direct"), request, call).seconds,
               bytes * (n - 1) / n / b);
}

TEST(Simulation, OfFineSlicesDiffersOnlyByFillingThePipeline) {
  const Machine machine = row(4);
  const double ideal = bytes / b;
  double before = INFINITY;
  for (const int slices : {16, 64, 256, 1024}) {
    const double time = seconds(machine, "chain:slices=" + std::to_string(slices), 4);
    EXPECT_LT(time, before);
    EXPECT_GE(time, ideal);
    EXPECT_LE(time, ideal * (1 + 5.0 / slices + 1e-12));
    before = time;
  }
}

TEST(Simulation, OfAPlanDoesNotDependOnHowFarAheadItIsPulled) {
  // One stream has no ops at all, so that the other's are pulled to the end, or counted.
  constexpr int chunks = 100'000;
  std::vector<OwnedOp> ops;
  for (int chunk = 0; chunk < chunks; ++chunk)
    ops.push_back({.rank = 1,
                   .lane = 0,
                   .count = 1,
                   .sources = {input(0, chunk)},
                   .destinations = {output(1, chunk)}});
  const Plan plan =
      hand_made({Collective::broadcast, 2, 0, false}, {.chunks_per_block = chunks}, ops);
  const SimpleCosts costs{.latency = 0.5, .op = 1};
  const auto result = simulate(star(2, costs), plan, one_block(chunks * 100));
  EXPECT_EQ(result.ops, static_cast<std::uint64_t>(chunks));
  EXPECT_NEAR(result.seconds, chunks * (2e-6 + 400 / b), 1e-9 * result.seconds);
}

TEST(Simulation, SeveralRanksMayShareAGpu) {
  SimulatedCall call = one_block();
  call.gpus = {0, 0, 1, 1};
  // Of the ring's four steps between neighbours two cross, each through a link of its own.
  expect_exact(seconds(star(2), "ring", 4, call), 2.0 * 3 / 4 * bytes / b);
  call.gpus = {0, 0, 0, 0};
  EXPECT_LT(seconds(star(2), "ring", 4, call), 1e-6);
}

TEST(Simulation, OfNoElementsTakesTheCallsOverheadOnly) {
  const SimpleCosts costs{.latency = 1, .op = 2, .call = 3};
  for (const char* spec : {"ring", "chain:slices=4", "two_shot", "double_tree"})
    EXPECT_NEAR(seconds(star(4, costs), spec, 4, one_block(0)), 3e-6, 1e-15) << spec;
}

TEST(Simulation, OpsWithoutElementsTakeNothing) {
  const SimpleCosts costs{.op = 1};
  // One element: of the ring's four chunks one has it, and takes its 2 (n - 1) hops.
  expect_exact(seconds(star(4, costs), "ring", 4, one_block(1)), 6 * (1e-6 + 4 / b));
}

TEST(Simulation, GivesUpWhenTold) {
  const Machine machine = star(4);
  const auto result = simulate(machine, parse_spec("ring"), all_reduce(4), one_block(),
                               {.give_up_after = bytes / b / 2});
  EXPECT_TRUE(result.gave_up);
  EXPECT_GE(result.seconds, bytes / b / 2);
  EXPECT_LT(result.seconds, seconds(machine, "ring", 4));
  const auto complete = simulate(machine, parse_spec("ring"), all_reduce(4), one_block(),
                                 {.give_up_after = 2 * bytes / b});
  EXPECT_FALSE(complete.gave_up);
}

TEST(Simulation, OfGpusThatDoNotReachEachOtherGoesThroughTheHost) {
  const double direct = seconds(preset_machine("4gpu-pcie4-one-root"), "ring", 4);
  const Machine apart = preset_without_peer_access("4gpu-pcie4-one-root");
  EXPECT_GT(seconds(apart, "ring", 4), 1.2 * direct);
  EXPECT_THROW((void)simulate(apart, make_plan("ring", all_reduce(4)), one_block()), Error);
}

TEST(Simulation, RefusesCallsThatDoNotFit) {
  const Machine machine = star(4);
  const auto refused = [&](const Request& request, const SimulatedCall& call) {
    try {
      (void)simulate(machine, parse_spec("ring"), request, call);
      return false;
    } catch (const Error& error) {
      return error.code() == ErrorCode::invalid_argument;
    }
  };
  EXPECT_TRUE(refused(all_reduce(5), one_block()));
  EXPECT_TRUE(refused(all_reduce(4), {.block_elements = {1, 2}, .element_bytes = 4, .gpus = {}}));
  EXPECT_TRUE(
      refused(all_reduce(4), {.block_elements = {1}, .element_bytes = 4, .gpus = {0, 1, 2}}));
  EXPECT_TRUE(
      refused(all_reduce(4), {.block_elements = {1}, .element_bytes = 4, .gpus = {0, 1, 2, 4}}));
  EXPECT_FALSE(refused(all_reduce(4), one_block()));
}

TEST(Simulation, EqualsAnIndependentOneOfStoredPlans) {
  expect_simulations_equal_the_reference(29, 60);
}

TEST(Simulation, IsNeverBelowABoundThatNoPlanCanBeat) {
  expect_simulations_keep_the_bounds(67, 60);
}

TEST(Simulation, OfASlicedChainWithTheNarrowCardAtItsEndBeatsTheOptimumOfTwoPhases) {
  const Machine machine = preset_machine("4gpu-pcie4-x4-slot");
  const auto optimum = tree_optimum(machine.capacities());
  constexpr std::size_t many = std::size_t{64} << 20U;
  const double message = 4.0 * many;
  // Bus bandwidth is 2 (n - 1) / n of the algorithm bandwidth.
  const double two_phases = message * 2 * 3 / 4 / (optimum.all_reduce_bus * optimum.unit);
  const double chain = seconds(machine, "chain:order=3-0-1-2,slices=64", 4, one_block(many));
  EXPECT_LT(chain, two_phases);
  const double bound = bounds_of_any_plan(machine.capacities(), Demand::all_to_everyone_reduced)
                           .front()
                           .seconds_per_byte *
                       message;
  EXPECT_GE(chain, bound);
}

}  // namespace
}  // namespace ringside::tests
