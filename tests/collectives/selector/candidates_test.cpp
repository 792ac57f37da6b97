// SPDX-License-Identifier: MIT
/// What is considered, and limits that no simulation is below.
#include "ringside/collectives/selector/candidates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "preset_machines.hpp"
#include "ringside/base/error.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/executors/simulated/simulate.hpp"
#include "ringside/collectives/selector/contenders.hpp"

namespace ringside::tests {
namespace {

std::set<std::string> specs_of(const Candidates& found) {
  std::set<std::string> specs;
  for (const auto& candidate : found.listed) specs.insert(to_string(candidate.spec));
  return specs;
}

Candidates candidates_on(const Machine& machine, const Request& request,
                         Breadth breadth = Breadth::fitting) {
  return candidates(machine, all_gpus(machine), request, breadth);
}

TEST(Candidates, CanServeTheRequestAndNoneIsThereTwice) {
  for (const auto* name : {"4gpu-pcie4-x4-slot", "dgx1v", "p2.16xlarge"})
    for (const auto collective : {Collective::all_reduce, Collective::broadcast,
                                  Collective::all_gather, Collective::all_to_all}) {
      const Machine machine = machine_of(name);
      const Request request{collective, machine.gpus()};
      const auto found = candidates_on(machine, request);
      EXPECT_EQ(specs_of(found).size(), found.listed.size()) << name;
      EXPECT_FALSE(found.listed.empty());
      for (const auto& candidate : found.listed)
        EXPECT_NO_THROW((void)make_algorithm(candidate.spec, request)) << to_string(candidate.spec);
    }
}

TEST(Candidates, HaveEveryAlgorithmOfTheCollective) {
  const Machine machine = machine_of("8gpu-two-sockets");
  for (const AlgorithmInfo& info : registered_algorithms()) {
    const Request request{info.collectives.front(), 8};
    const auto found = candidates_on(machine, request);
    EXPECT_TRUE(std::any_of(found.listed.begin(), found.listed.end(), [&](const Candidate& each) {
      return each.spec.name == info.name;
    })) << info.name;
  }
}

TEST(Candidates, FitTheMachine) {
  const Machine machine = machine_of("8gpu-two-sockets");
  const auto specs = specs_of(candidates_on(machine, {Collective::all_reduce, 8}));
  EXPECT_TRUE(specs.contains("hierarchical:groups=0-1-2-3/4-5-6-7,inner=ring,outer=ring"));
  EXPECT_TRUE(specs.contains("two_shot:transfer=push"));
  EXPECT_FALSE(specs.contains("ring:order=0-4-1-5-2-6-3-7"));
}

TEST(Candidates, OfThreeLevelsAreListedWhereTheMachineHasThem) {
  const Machine machine = machine_of("dgx1v");
  const auto specs = specs_of(candidates_on(machine, {Collective::all_reduce, 8}));
  EXPECT_TRUE(
      specs.contains("hierarchical:groups=0-1-2-3/4-5-6-7,"
                     "inner=(hierarchical:groups=0-1/2-3,inner=two_shot,outer=ring),outer=ring"));
}

TEST(Candidates, OfAllOrdersIncludeThoseThatFit) {
  for (const auto* name : {"4gpu-pcie4-two-sockets", "4gpu-nvlink-pairs"}) {
    const Machine machine = machine_of(name);
    const Request request{Collective::all_reduce, 4};
    const auto some = specs_of(candidates_on(machine, request));
    const auto all = specs_of(candidates_on(machine, request, Breadth::all));
    EXPECT_GT(all.size(), some.size());
    EXPECT_TRUE(std::includes(all.begin(), all.end(), some.begin(), some.end())) << name;
  }
}

TEST(Candidates, ThatCannotServeARequestAreToldWithTheReason) {
  const Machine machine = machine_of("8gpu-two-sockets");
  const std::vector<int> gpus = {0, 1, 2, 3, 4, 5};
  const auto found = candidates(machine, gpus, {Collective::all_gather, 6});
  const auto refused =
      std::find_if(found.refused.begin(), found.refused.end(),
                   [](const auto& each) { return each.spec == "recursive_doubling"; });
  ASSERT_NE(refused, found.refused.end());
  EXPECT_NE(refused->why.find("powers of two"), std::string::npos);
}

TEST(Candidates, ForABarrierThereAreNone) {
  const Machine machine = machine_of("4gpu-pcie4-one-root");
  EXPECT_THROW((void)candidates_on(machine, {Collective::barrier, 4}), Error);
}

// --- limits --------------------------------------------------------------------------------------

/// Every `step`-th contender, at sizes where latencies, and where links decide.
void expect_no_time_below_its_limit(const Machine& machine, const Request& request,
                                    std::size_t step) {
  const auto gpus = all_gpus(machine);
  const Contenders contenders(machine, gpus, request, Breadth::fitting);
  const auto all = contenders.all();
  constexpr std::size_t slack_elements = 5;  // chunks of unequal length
  for (const std::size_t elements : {std::size_t{3}, std::size_t{2048}, std::size_t{1} << 20}) {
    const CallSize size{elements + slack_elements, 4};
    for (std::size_t i = 0; i < all.size(); i += step)
      for (const int slices : contenders.slices(all[i], size)) {
        if (slices > 16) break;
        const auto blocks = static_cast<std::size_t>(block_count(request));
        const double seconds =
            simulate(machine, Contenders::spec_of(all[i], slices), request,
                     {std::vector<std::size_t>(blocks, size.block_elements), 4, gpus})
                .seconds;
        const std::string what = to_string(Contenders::spec_of(all[i], slices));
        const double rounding = 1 + 1e-9;
        EXPECT_LE(contenders.limit(all[i], size, slices).seconds, seconds * rounding) << what;
        EXPECT_LE(all[i].mapped->for_any_slices(size).seconds, seconds * rounding) << what;
      }
  }
}

TEST(LowerLimits, NoSimulatedTimeIsBelow) {
  for (const auto* name : {"4gpu-pcie4-two-sockets", "g5.12xlarge", "4gpu-nvlink-pairs"}) {
    const Machine machine = machine_of(name);
    expect_no_time_below_its_limit(machine, {Collective::all_reduce, machine.gpus()}, 5);
  }
}

TEST(LowerLimits, HoldForOtherCollectives) {
  const Machine machine = machine_of("4gpu-pcie4-x4-slot");
  for (const auto collective : {Collective::reduce_scatter, Collective::all_gather,
                                Collective::gather, Collective::all_to_all})
    expect_no_time_below_its_limit(machine, {collective, 4}, 2);
  expect_no_time_below_its_limit(machine, {Collective::broadcast, 4, 3}, 2);
  expect_no_time_below_its_limit(machine, {Collective::reduce, 4, 1}, 2);
}

/// A flow at a time on each link: there is nothing to share, and the limit is the time.
TEST(LowerLimits, OfAnUnsharedPlanAreItsTime) {
  const Machine machine = machine_of("4gpu-pcie4-one-root");
  const auto gpus = all_gpus(machine);
  const Request request{Collective::all_reduce, 4};
  const Contenders contenders(machine, gpus, request, Breadth::fitting);
  const CallSize size{4096, 4};
  for (const auto& contender : contenders.all()) {
    if (contender.algorithm != "chain" || contender.sliced) continue;
    const double seconds =
        simulate(machine, contender.spec, request, {{size.block_elements}, 4, gpus}).seconds;
    EXPECT_NEAR(contenders.limit(contender, size, 1).seconds, seconds, seconds * 1e-9);
  }
}

TEST(Contenders, OtherWordsForAPlanAreThereOnce) {
  const Machine machine = machine_of("4gpu-pcie4-two-sockets");
  const std::vector<int> two = {0, 2};
  const Contenders contenders(machine, two, {Collective::all_reduce, 2}, Breadth::fitting);
  const auto count = [&](const std::string& algorithm) {
    return std::count_if(
        contenders.all().begin(), contenders.all().end(),
        [&](const Contender& each) { return each.algorithm == algorithm && !each.sliced; });
  };
  EXPECT_EQ(count("ring") + count("halving_doubling"), 1) << "on two ranks these are one plan";
}

}  // namespace
}  // namespace ringside::tests
