// SPDX-License-Identifier: MIT
/// The search: what it leaves out could not have been much better.
#include "ringside/collectives/selector/search.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "preset_machines.hpp"
#include "ringside/collectives/executors/simulated/simulate.hpp"

namespace ringside::tests {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

/// Counts what the search asks for.
struct Counted {
  const Machine& machine;
  Request request;
  CallSize size;
  int asked = 0, complete = 0;

  Simulator simulator() {
    return [this](const Contender& contender, int slices, std::optional<double> give_up_after) {
      SimulationWanted wanted;
      wanted.give_up_after = give_up_after;
      const auto done = simulate(machine, Contenders::spec_of(contender, slices), request,
                                 {{size.block_elements}, size.element_bytes, {}}, wanted);
      ++asked;
      complete += done.gave_up ? 0 : 1;
      return std::pair(done.seconds, !done.gave_up);
    };
  }
};

struct Found {
  SearchResult result;
  int asked = 0;
};

Found search_on(const Machine& machine, std::size_t bytes, const SearchSettings& settings) {
  const Request request{Collective::all_reduce, machine.gpus()};
  const CallSize size{bytes / 4, 4};
  const Contenders contenders(machine, all_gpus(machine), request, Breadth::fitting);
  Counted counted{machine, request, size};
  auto result = search(contenders, size, counted.simulator(), settings);
  return {std::move(result), counted.asked};
}

TEST(Search, IsWithinFivePercentOfSimulatingEverything) {
  const SearchSettings everything{
      .tolerance = 0, .tie = 0, .extrapolate = false, .exhaustive = true};
  for (const auto* name : {"4gpu-pcie4-two-switches", "4gpu-pcie4-x4-slot"})
    for (const std::size_t bytes : {mib / 16, mib / 2}) {
      const Machine machine = machine_of(name);
      const Found pruned = search_on(machine, bytes, {});
      const Found all = search_on(machine, bytes, everything);
      EXPECT_EQ(static_cast<std::size_t>(all.asked), all.result.plans);
      EXPECT_LT(pruned.asked, all.asked / 2) << name;
      EXPECT_LE(pruned.result.best.seconds, all.result.best.seconds * 1.05) << name;
    }
}

TEST(Search, ThatDoesNotExtrapolateIsWithinToleranceAndTie) {
  const SearchSettings settings{.tolerance = 0.02, .tie = 0.01, .extrapolate = false};
  const SearchSettings exact{.tolerance = 0, .tie = 0, .extrapolate = false};
  for (const auto* name : {"4gpu-pcie4-two-switches", "4gpu-nvlink-pairs"}) {
    const Machine machine = machine_of(name);
    EXPECT_LE(search_on(machine, mib, settings).result.best.seconds,
              search_on(machine, mib, exact).result.best.seconds * 1.03)
        << name;
  }
}

TEST(Search, WithoutToleranceFindsTheBest) {
  const SearchSettings exact{.tolerance = 0, .tie = 0, .extrapolate = false};
  const SearchSettings everything{
      .tolerance = 0, .tie = 0, .extrapolate = false, .exhaustive = true};
  const Machine machine = machine_of("4gpu-pcie4-two-sockets");
  const Found found = search_on(machine, mib / 4, exact);
  const Found all = search_on(machine, mib / 4, everything);
  EXPECT_EQ(found.result.best.seconds, all.result.best.seconds);
  EXPECT_LT(found.asked, all.asked);
}

/// Everything takes exactly its limit, but for one contender that is a little slower than the best
/// and issues less.
TEST(Search, TakesWhatIssuesTheLeastAmongTheBest) {
  const Machine machine = machine_of("4gpu-pcie4-one-root");
  const Request request{Collective::all_reduce, 4};
  const CallSize size{mib, 4};
  const Contenders contenders(machine, all_gpus(machine), request, Breadth::fitting);
  const auto simulate = [](const Contender&, int slices, std::optional<double>) {
    return std::pair(1.0 + 0.01 / slices, true);
  };
  const SearchSettings settings{
      .tolerance = 0, .tie = 0.02, .extrapolate = false, .exhaustive = true};
  const SearchResult result = search(contenders, size, simulate, settings);
  const Contender& best = contenders.all()[result.best.contender];
  const double overhead = Contenders::overhead(best, result.best.slices);
  for (const Contender& other : contenders.all())
    for (const int slices : contenders.slices(other, size))
      EXPECT_LE(overhead, Contenders::overhead(other, slices));
}

TEST(Search, ProspectsHaveTheLeastLimitOfTheirAlgorithm) {
  const Machine machine = machine_of("4gpu-pcie4-two-sockets");
  const Request request{Collective::all_reduce, 4};
  const CallSize size{mib, 4};
  const Contenders contenders(machine, all_gpus(machine), request, Breadth::fitting);
  for (const std::string algorithm : {"ring", "chain", "hierarchical"}) {
    const auto prospect = best_prospect(contenders, size, algorithm);
    ASSERT_TRUE(prospect);
    double least = std::numeric_limits<double>::infinity();
    for (const Contender& contender : contenders.all())
      if (contender.algorithm == algorithm)
        for (const int slices : contenders.slices(contender, size))
          least = std::min(least, contenders.limit(contender, size, slices).seconds);
    EXPECT_EQ(prospect->limit.seconds, least) << algorithm;
  }
  EXPECT_FALSE(best_prospect(contenders, size, "bruck"));
}

}  // namespace
}  // namespace ringside::tests
