// SPDX-License-Identifier: MIT
/// Whatever the order in which the threads of the host executor come to run, what they do is
/// ordered by the executor's waits, and each of its waits is needed for that.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/tests/collectives/host/calls_to_try.hpp"
#include "ringside/tests/collectives/host/interleaving.hpp"

namespace ringside::tests {
namespace {

/// Every algorithm of every collective, in and out of place, cut in turn in slices and lanes; so
/// long that no slice of a chunk is empty.
std::vector<TriedCall> all_calls(int ranks) {
  constexpr std::array<Cut, 4> few_cuts = {{{0, 0, 0}, {2, 1, 1}, {3, 2, 0}, {4, 2, 2}}};
  constexpr std::size_t elements_of_a_slice = 2;
  std::vector<TriedCall> calls;
  for_each_algorithm(ranks, [&](Request request, const std::string& spec) {
    if (spec == "auto") return;
    const std::size_t number = calls.size();
    const std::string cut = with_cut(spec, few_cuts[number % few_cuts.size()]);
    if (!supported(cut, request)) return;
    if (has_root(request.collective)) request.root = static_cast<int>(number) % ranks;
    const Shape shape = make_plan(cut, request).shape();
    const auto slices = static_cast<std::size_t>(shape.chunks_per_block * shape.slices);
    calls.push_back(TriedCall{request,
                              cut,
                              {elements_of_a_slice * slices},
                              number % 2 == 0 ? ElementType::float32 : ElementType::float16,
                              ReduceOp::sum,
                              number + 1});
  });
  return calls;
}

void run_seeds(int ranks, std::uint64_t seeds) {
  const auto calls = all_calls(ranks);
  std::vector<Interleaving> interleavings;
  interleavings.reserve(calls.size());
  for (const auto& call : calls) interleavings.emplace_back(call);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Interleaving& one = interleavings[seed % interleavings.size()];
    const std::string fault = one.run(seed);
    ASSERT_EQ(fault, "") << describe(one.call()) << ", seed " << seed;
  }
  fmt::print("{} ranks: {} seeds over {} calls of all algorithms, each made {} times on end\n",
             ranks, seeds, calls.size(), Interleaving::calls);
}

class Interleavings : public testing::TestWithParam<int> {};

TEST_P(Interleavings, EveryOrderGivesTheBitsOfTheReferenceAndLeavesNothingToLuck) {
  run_seeds(GetParam(), 2500);
}

TEST_P(Interleavings, AWaitThatIsLeftOutIsNoticed) {
  std::size_t waits = 0, calls = 0;
  for (const auto& call : all_calls(GetParam())) {
    const Interleaving one(call);
    ++calls;
    for (const LeftOut& wait : one.waits()) {
      ++waits;
      EXPECT_NE(one.run(waits, wait), "") << describe(call) << ": " << describe(wait);
      if (HasFailure()) return;
    }
  }
  fmt::print("{} ranks: {} waits of {} calls, each left out once and noticed\n", GetParam(), waits,
             calls);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Interleavings, testing::Values(2, 3, 4, 5));

}  // namespace
}  // namespace ringside::tests
