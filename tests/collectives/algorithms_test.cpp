// SPDX-License-Identifier: MIT
/// Every built-in algorithm of all_reduce is right for any number of ranks, and costs what its page
/// says. The formulas are written here once more, from the papers, not taken from the plans. The
/// other collectives: every_collective_test.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include "ringside/base/error.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/algorithms/builtin.hpp"
#include "ringside/collectives/cost.hpp"
#include "ringside/collectives/dependencies.hpp"
#include "ringside/collectives/prover.hpp"

namespace ringside {
namespace {

using Number = std::uint64_t;

/// What an algorithm must cost and be. `n` ranks, `s` bytes, `p` the greatest power of two in n.
struct Expected {
  std::string spec;
  std::function<Number(Number n)> steps;
  std::function<Number(Number n, Number s)> sent;  // by the busiest rank
  bool rank_order, one_rounding, uniform;          // for n >= 4; below, more may hold by chance
};

Number floor_log2(Number n) { return std::bit_width(n) - 1; }
Number ceil_log2(Number n) { return std::bit_width(n - 1); }
Number pairs(Number n) { return n == std::bit_floor(n) ? 0 : 1; }  // some rank is folded in
Number two_laps(Number n) { return 2 * (n - 1); }
Number least_bytes(Number n, Number s) { return 2 * s / n * (n - 1); }

const std::vector<Expected>& all_expected() {
  static const std::vector<Expected> expected = {
      {"naive", [](Number n) { return n; }, [](Number n, Number s) { return (n - 1) * s; }, true,
       false, true},
      {"chain", two_laps, [](Number n, Number s) { return n == 2 ? s : 2 * s; }, true, false, true},
      {"binomial", [](Number n) { return 2 * ceil_log2(n); },
       [](Number n, Number s) { return ceil_log2(n) * s; }, false, false, true},
      {"double_tree", [](Number n) { return 2 * floor_log2(n); },
       [](Number n, Number s) { return n == 2   ? s
                                       : n == 3 ? s / 2 * 3
                                                : 2 * s; }, false, false,
       false},
      {"recursive_doubling", [](Number n) { return floor_log2(n) + 2 * pairs(n); },
       [](Number n, Number s) { return (floor_log2(n) + pairs(n)) * s; }, false, false, true},
      {"halving_doubling", [](Number n) { return 2 * floor_log2(n) + 2 * pairs(n); },
       [](Number n, Number s) { return least_bytes(std::bit_floor(n), s) + pairs(n) * s; }, false,
       false, true},
      {"ring", two_laps, least_bytes, false, false, false},
      {"bidirectional_ring", two_laps, least_bytes, false, false, false},
      {"one_shot", [](Number) { return Number{1}; }, [](Number n, Number s) { return (n - 1) * s; },
       true, true, true},
      {"one_shot:transfer=push", [](Number) { return Number{1}; },
       [](Number n, Number s) { return (n - 1) * s; }, true, true, true},
      {"two_shot", [](Number) { return Number{2}; }, least_bytes, true, true, true},
      {"two_shot:transfer=push", [](Number n) { return n; }, least_bytes, true, true, true},
      {"two_shot:transfer=pull", [](Number n) { return n; }, least_bytes, true, true, true},
      {"neighbour_push", two_laps, least_bytes, false, false, false},
      // Two groups; of unequal ones an owner has two runs to exchange (only one if it is alone).
      {"hierarchical",
       [](Number n) {
         return Number{n == 2 ? 2u : n % 2 == 0 ? 4u : n == 3 ? 5u : 6u};
       },
       [](Number n, Number s) { return 2 * s - s / ((n + 1) / 2); }, false, false, true},
  };
  return expected;
}

std::vector<int> all_ranks() {
  std::vector<int> ranks(16);
  std::iota(ranks.begin(), ranks.end(), 2);
  ranks.insert(ranks.end(), {32, 64});
  return ranks;
}

Plan plan_of(const std::string& spec, int ranks, bool in_place) {
  return make_plan(spec, {.ranks = ranks, .in_place = in_place});
}

/// Bytes that divide evenly, however the plan and the formulas cut them.
Number even_size(const Plan& plan) {
  const auto n = static_cast<Number>(plan.ranks());
  Number size = 2 * static_cast<Number>(plan.chunks());
  for (const Number part : {n, std::bit_floor(n), (n + 1) / 2}) size = std::lcm(size, part);
  return size;
}

Cost cost_of_bytes(const Plan& plan, Number bytes) {
  const std::vector<std::size_t> elements = {bytes};
  return cost_of(plan, elements, 1);
}

testing::AssertionResult is_right(const Plan& plan) {
  const Proof proof = prove(plan);
  if (!proof.holds())
    return testing::AssertionFailure()
           << fmt::format("{} on {} ranks: {}", plan.spec(), plan.ranks(), proof.refuted->message);
  if (!proof.facts.same_on_all_ranks)
    return testing::AssertionFailure()
           << fmt::format("{} on {} ranks: the ranks' results differ", plan.spec(), plan.ranks());
  return testing::AssertionSuccess();
}

class EveryAlgorithm : public testing::TestWithParam<Expected> {};

TEST_P(EveryAlgorithm, IsRightForAnyNumberOfRanksInBothPlacements) {
  for (const int n : all_ranks())
    for (const bool in_place : {false, true})
      EXPECT_TRUE(is_right(plan_of(GetParam().spec, n, in_place))) << "in place: " << in_place;
}

TEST_P(EveryAlgorithm, TakesTheStepsOfItsFormula) {
  for (const int n : all_ranks())
    for (const bool in_place : {false, true}) {
      const Plan plan = plan_of(GetParam().spec, n, in_place);
      EXPECT_EQ(static_cast<Number>(cost_of_bytes(plan, even_size(plan)).steps),
                GetParam().steps(static_cast<Number>(n)))
          << n << " ranks, in place: " << in_place;
    }
}

TEST_P(EveryAlgorithm, SendsTheBytesOfItsFormula) {
  for (const int n : all_ranks())
    for (const bool in_place : {false, true}) {
      const Plan plan = plan_of(GetParam().spec, n, in_place);
      const Number size = even_size(plan);
      EXPECT_EQ(cost_of_bytes(plan, size).busiest_sent(),
                GetParam().sent(static_cast<Number>(n), size))
          << n << " ranks, in place: " << in_place << ", of " << size;
    }
}

TEST_P(EveryAlgorithm, HasTheFactsOfItsPage) {
  const Expected& expected = GetParam();
  for (const int n : all_ranks())
    for (const bool in_place : {false, true}) {
      SCOPED_TRACE(fmt::format("{} ranks, in place: {}", n, in_place));
      const ProofFacts facts = prove(plan_of(expected.spec, n, in_place)).facts;
      EXPECT_TRUE(facts.rank_order || !expected.rank_order);
      EXPECT_TRUE(facts.one_rounding || !expected.one_rounding);
      EXPECT_TRUE(facts.uniform || !expected.uniform);
      if (n < 4) continue;
      EXPECT_EQ(facts.rank_order, expected.rank_order);
      EXPECT_EQ(facts.one_rounding, expected.one_rounding);
      EXPECT_EQ(facts.uniform, expected.uniform);
    }
}

TEST_P(EveryAlgorithm, ComputesTheSameWithAnySlicesAndLanes) {
  for (const int n : {2, 3, 5, 8})
    for (const bool in_place : {false, true})
      for (const char* cut : {"slices=2", "slices=7,lanes=1", "slices=4,lanes=8,depth=1", "lanes=3",
                              "slices=64,lanes=4,depth=64"}) {
        const Plan whole = plan_of(GetParam().spec, n, in_place);
        const Plan plan = plan_of(with_parameters(GetParam().spec, cut), n, in_place);
        EXPECT_TRUE(is_right(plan));
        EXPECT_FALSE(difference_in_bits(whole, plan).has_value()) << plan.spec();
        const Number size = 64 * even_size(plan);
        EXPECT_EQ(cost_of_bytes(plan, size).sent, cost_of_bytes(whole, size).sent) << plan.spec();
        if (n > 5) continue;
        EXPECT_NO_THROW(check_waits(plan, make_schedule(plan))) << plan.spec();
      }
}

TEST_P(EveryAlgorithm, OfOneRankIsACopy) {
  const Plan plan = plan_of(GetParam().spec, 1, false);
  EXPECT_TRUE(is_right(plan));
  EXPECT_EQ(cost_of_bytes(plan, 64).busiest_sent(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, EveryAlgorithm, testing::ValuesIn(all_expected()),
                         [](const auto& tested) {
                           std::string name = tested.param.spec;
                           for (char& c : name)
                             if (c == ':' || c == '=') c = '_';
                           return name;
                         });

TEST(Algorithms, AllBuiltInsAreExpectedHere) {
  for (const AlgorithmInfo& info : builtin_algorithms()) {
    EXPECT_FALSE(info.summary.empty()) << info.name;
    const auto& served = info.collectives;
    if (std::find(served.begin(), served.end(), Collective::all_reduce) == served.end()) continue;
    const auto& expected = all_expected();
    EXPECT_TRUE(std::any_of(expected.begin(), expected.end(), [&](const Expected& e) {
      return e.spec == info.name;
    })) << info.name;
  }
}

TEST(Chain, WithSlicesIsAPipeline) {
  for (const Number n : {2, 3, 4, 8, 17})
    for (const Number k : {2, 4, 16, 64}) {
      const Plan plan =
          plan_of(fmt::format("chain:slices={},lanes=2", k), static_cast<int>(n), false);
      EXPECT_EQ(static_cast<Number>(cost_of_bytes(plan, 4096).steps), 2 * (n - 1) + k - 1)
          << n << " ranks, " << k << " slices";
    }
}

TEST(Chain, UsesTheLinksOfItsOrderOnly) {
  const std::vector<int> order = {2, 0, 3, 1, 4};
  const Plan plan = plan_of("chain:order=2-0-3-1-4", 5, true);
  EXPECT_TRUE(is_right(plan));
  for (const LinkBytes& link : cost_of_bytes(plan, 100).links) {
    const auto place = [&](int rank) {
      return std::find(order.begin(), order.end(), rank) - order.begin();
    };
    EXPECT_EQ(std::abs(place(link.from) - place(link.to)), 1);
    EXPECT_EQ(link.bytes, 100u);
  }
}

TEST(Rings, UseTheLinksOfTheirOrderOnly) {
  const std::vector<int> order = {2, 0, 3, 1};
  for (const bool both : {false, true}) {
    const Plan plan =
        plan_of(both ? "bidirectional_ring:order=2-0-3-1" : "ring:order=2-0-3-1", 4, false);
    EXPECT_TRUE(is_right(plan));
    const auto links = cost_of_bytes(plan, 80).links;
    EXPECT_EQ(links.size(), both ? 8u : 4u);
    for (std::size_t i = 0; i < 4; ++i) {
      const int here = order[i], next = order[(i + 1) % 4];
      const LinkBytes forwards{here, next, both ? 60u : 120u}, backwards{next, here, 60u};
      EXPECT_NE(std::find(links.begin(), links.end(), forwards), links.end());
      EXPECT_EQ(std::find(links.begin(), links.end(), backwards) != links.end(), both);
    }
  }
}

/// Whether some op reads (or writes) another rank's memory.
bool reads_across(const Plan& plan) {
  for (std::size_t i = 0; i < plan.size(); ++i)
    for (const auto& from : plan.op(i).sources)
      if (from.rank != plan.op(i).rank) return true;
  return false;
}
bool writes_across(const Plan& plan) {
  for (std::size_t i = 0; i < plan.size(); ++i)
    for (const auto& to : plan.op(i).destinations)
      if (to.rank != plan.op(i).rank) return true;
  return false;
}

TEST(Transfer, PushNeverReadsAcrossAndPullNeverWrites) {
  for (const bool in_place : {false, true})
    for (const char* spec : {"one_shot:transfer=push", "two_shot:transfer=push", "neighbour_push"})
      EXPECT_FALSE(reads_across(plan_of(spec, 5, in_place))) << spec;
  for (const bool in_place : {false, true})
    for (const char* spec : {"one_shot:transfer=pull", "two_shot:transfer=pull", "naive", "chain",
                             "ring", "double_tree"})
      EXPECT_FALSE(writes_across(plan_of(spec, 5, in_place))) << spec;
}

TEST(DoubleTree, HasEveryRankInsideOneTreeAtMost) {
  for (const int n : all_ranks()) {
    const Plan plan = plan_of("double_tree", n, false);
    std::vector<int> folds(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < plan.size(); ++i)
      if (plan.op(i).sources.size() > 1) ++folds[static_cast<std::size_t>(plan.op(i).rank)];
    EXPECT_LE(*std::max_element(folds.begin(), folds.end()), 1) << n;
  }
}

TEST(NeighbourPush, HasOneWriterAndOneReaderPerRankAndStage) {
  const int n = 5;
  const Plan plan = plan_of("neighbour_push", n, false);
  std::vector<std::vector<int>> writers(static_cast<std::size_t>(n));  // [written][stage]
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const Op op = plan.op(i);
    const int written = op.destinations.front().rank;
    ASSERT_EQ(op.destinations.size(), 1u);
    if (written != op.rank) writers[static_cast<std::size_t>(written)].push_back(op.rank);
  }
  for (int rank = 0; rank < n; ++rank) {
    const auto& of_rank = writers[static_cast<std::size_t>(rank)];
    ASSERT_EQ(of_rank.size(), 8u);  // one a stage, and in each stage another rank
    for (int stage = 0; stage < 8; ++stage)
      EXPECT_EQ(of_rank[static_cast<std::size_t>(stage)], (rank - stage % 4 - 1 + 2 * n) % n);
  }
}

TEST(RecursiveDoubling, NeedsTwoScratchSlotsAtMost) {
  for (const int n : all_ranks())
    for (const bool in_place : {false, true}) {
      const Plan plan = plan_of("recursive_doubling", n, in_place);
      for (int rank = 0; rank < n; ++rank) EXPECT_LE(plan.scratch(rank).size(), 2u);
    }
}

TEST(RecursiveDoubling, AddsInTheTreeOfBinomial) {
  for (const int n : {2, 4, 8, 16})
    EXPECT_FALSE(
        difference_in_bits(plan_of("recursive_doubling", n, false), plan_of("binomial", n, false))
            .has_value())
        << n;
}

TEST(Hierarchical, TakesAnyInnerAndOuterAlgorithm) {
  std::vector<std::string> specs;
  for (const Expected& expected : all_expected()) specs.push_back(expected.spec);
  specs.emplace_back("hierarchical:inner=one_shot,outer=recursive_doubling");
  const std::vector<std::string> groups_of[] = {{"0/1-2-3", "0-2/1-3", "0/1/2/3"},
                                                {"0-1-2/3-4", "4-0/3/2-1"},
                                                {"0-1-2/3-4-5", "0-1/2-3/4-5"},
                                                {"6-0-1/2-5-4/3"},
                                                {"0-1-2/3-4-5/6-7"}};
  int cases = 0;
  for (int n = 4; n <= 8; ++n) {
    auto groupings = groups_of[n - 4];
    groupings.emplace_back();
    for (const auto& groups : groupings)
      for (const auto& inner : specs)
        for (const auto& outer : specs)
          for (const bool in_place : {false, true}) {
            const std::string spec =
                fmt::format("hierarchical:{}inner=({}),outer=({})",
                            groups.empty() ? "" : "groups=" + groups + ",", inner, outer);
            EXPECT_TRUE(is_right(plan_of(spec, n, in_place)));
            ++cases;
          }
  }
  fmt::print("{} compositions proven\n", cases);
}

TEST(Hierarchical, CrossesBetweenTwoGroupsOnceEachWay) {
  for (const int n : {4, 6, 8}) {
    const Plan plan = plan_of("hierarchical", n, false);
    const Number size = even_size(plan);
    Number there = 0, back = 0;
    for (const LinkBytes& link : cost_of_bytes(plan, size).links) {
      if (link.from < n / 2 && link.to >= n / 2) there += link.bytes;
      if (link.from >= n / 2 && link.to < n / 2) back += link.bytes;
    }
    EXPECT_EQ(there, size);
    EXPECT_EQ(back, size);
  }
}

/// The message of the error that making the plan throws, with its code; empty if it throws none.
std::string refusal(const std::string& spec, int ranks) {
  try {
    (void)plan_of(spec, ranks, false);
  } catch (const Error& error) {
    return fmt::format("{}: {}", to_string(error.code()), error.what());
  }
  return {};
}

TEST(Refusals, SayWhatIsWrong) {
  EXPECT_EQ(refusal("ring:order=0-1", 3), "bad_input: ring: order=0-1: it names 2 ranks of 3");
  EXPECT_EQ(refusal("one_shot:transfer=shove", 3),
            "bad_input: one_shot: transfer=shove: expected one of pull, push");
  EXPECT_EQ(refusal("naive:order=0-1-2", 3),
            "bad_input: naive has no parameter 'order': it takes slices, lanes, depth");
  EXPECT_EQ(refusal("hierarchical:groups=0-1/2", 4),
            "bad_input: hierarchical: groups=0-1/2: rank 3 is in no group");
  EXPECT_EQ(
      refusal("hierarchical:inner=(ring:slices=2)", 4),
      "bad_input: hierarchical: inner=ring:slices=2: 'slices' belongs to hierarchical itself, "
      "not to a level of it");
  EXPECT_EQ(refusal("hierarchical:outer=spiral", 4).find("bad_input: there is no algorithm"), 0u);
}

TEST(Refusals, HierarchicalGroupsThatWouldCutTheDataInDust) {
  std::string groups;
  int rank = 0;
  for (const int size : {31, 29, 27, 25, 23}) {
    if (rank > 0) groups += '/';
    for (int i = 0; i < size; ++i) groups += fmt::format("{}{}", i == 0 ? "" : "-", rank++);
  }
  EXPECT_EQ(refusal("hierarchical:groups=" + groups, rank).find("unsupported: hierarchical: "), 0u);
}

}  // namespace
}  // namespace ringside
