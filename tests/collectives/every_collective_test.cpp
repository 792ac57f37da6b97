// SPDX-License-Identifier: MIT
/// The algorithms of every collective but all_reduce (algorithms_test.cpp) are right for any number
/// of ranks, any root and both placements, and cost what their pages say. The formulas are written
/// here once more, from the papers, not taken from the plans.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <ostream>
#include <set>

#include "ringside/base/error.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/algorithms/builtin.hpp"
#include "ringside/collectives/cost.hpp"
#include "ringside/collectives/dependencies.hpp"
#include "ringside/collectives/prover.hpp"
#include "ringside/tests/collectives/plans_under_test.hpp"

namespace ringside {
namespace {

using Number = std::uint64_t;

/// n ranks, s bytes: of the one block, or of a block per rank together (all_to_all: of those that a
/// rank sends). p is the greatest power of two in n, r the root.
struct Case {
  Number n, s, r;
  [[nodiscard]] Number p() const { return std::bit_floor(n); }
  [[nodiscard]] Number block() const { return s / n; }
  [[nodiscard]] bool folds() const { return n != p(); }
};
using Formula = std::function<Number(const Case&)>;

/// Which of the facts hold: of sums for n >= 4 (below, more may hold by chance), of copies always.
struct Facts {
  bool rank_order, one_rounding, uniform;
};
constexpr Facts copies{true, true, true};

struct Expected {
  Collective collective;
  std::string spec;
  Formula steps, sent, received;  // the latter two by the busiest rank
  Facts facts;
};

Number floor_log2(const Case& c) { return std::bit_width(c.n) - 1; }
Number ceil_log2(const Case& c) { return std::bit_width(c.n - 1); }
Number one(const Case&) { return 1; }
Number others(const Case& c) { return c.n - 1; }
Number all(const Case& c) { return c.s; }
Number to_all(const Case& c) { return (c.n - 1) * c.s; }
Number block(const Case& c) { return c.block(); }
Number other_blocks(const Case& c) { return (c.n - 1) * c.block(); }

/// Blocks of the largest branch of the binomial tree: ranks 0 .. q-1 and q .. n-1 (q the greatest
/// power of two below n) are a branch where the root is in the other part, and of its own part the
/// root leads at least half.
Number largest_branch(const Case& c) {
  const Number q = std::bit_ceil(c.n) / 2;
  return c.r >= q ? q : std::max(c.n - q, q / 2);
}

/// Ranks that hang from the root of the binomial tree of n: a root in the lower part meets every
/// distance; one behind it has rank 0 hang from it, and is the root of what remains.
Number children_of_root(Number n, Number r) {
  if (n == 1) return 0;
  const Number q = std::bit_ceil(n) / 2;
  return r < q ? std::bit_width(n - 1) : 1 + children_of_root(n - q, r - q);
}
/// Of any rank: the root, or rank 0 with the whole lower part.
Number most_children(const Case& c) {
  const Number q = std::bit_ceil(c.n) / 2;
  return std::max(children_of_root(c.n, c.r), c.r < q ? Number{0} : Number(std::bit_width(q - 1)));
}

/// What member 0 of recursive halving receives. Each round brings what its half of the members
/// works for: a block each, and one more for each of them that has an extra (they come first);
/// before that the extra hands over everything.
Number halving_received(const Case& c) {
  const Number extras = c.n - c.p();
  Number blocks = extras > 0 ? c.n : 0;
  for (Number half = c.p() / 2; half >= 1; half /= 2) blocks += half + std::min(extras, half);
  return blocks * c.block();
}

const std::vector<Expected>& all_expected() {
  using C = Collective;
  static const std::vector<Expected> expected = {
      {C::reduce_scatter, "ring", others, other_blocks, other_blocks, {false, false, false}},
      {C::reduce_scatter,
       "recursive_halving",
       [](const Case& c) { return floor_log2(c) + (c.folds() ? 2 : 0); },
       [](const Case& c) { return c.folds() ? c.s : other_blocks(c); },
       halving_received,
       {false, false, true}},
      {C::reduce_scatter, "direct", one, other_blocks, other_blocks, {true, true, true}},

      {C::all_gather, "ring", others, other_blocks, other_blocks, copies},
      {C::all_gather, "recursive_doubling", ceil_log2, other_blocks, other_blocks, copies},
      {C::all_gather, "bruck", ceil_log2, other_blocks, other_blocks, copies},
      {C::all_gather, "direct", one, other_blocks, other_blocks, copies},

      {C::broadcast, "linear", one, to_all, all, copies},
      {C::broadcast, "chain", others, all, all, copies},
      {C::broadcast, "binomial", ceil_log2, [](const Case& c) { return most_children(c) * c.s; },
       all, copies},
      {C::broadcast, "scatter_all_gather", [](const Case& c) { return c.n; },
       [](const Case& c) { return 2 * other_blocks(c); }, all, copies},

      {C::reduce, "linear", one, all, to_all, {true, true, true}},
      {C::reduce, "chain", others, all, all, {false, false, true}},
      {C::reduce,
       "binomial",
       ceil_log2,
       all,
       [](const Case& c) { return most_children(c) * c.s; },
       {false, false, true}},

      {C::gather, "linear", one, block, other_blocks, copies},
      {C::gather, "binomial", ceil_log2,
       [](const Case& c) { return largest_branch(c) * c.block(); }, other_blocks, copies},
      {C::scatter, "linear", one, other_blocks, block, copies},
      {C::scatter, "binomial", ceil_log2, other_blocks,
       [](const Case& c) { return largest_branch(c) * c.block(); }, copies},

      {C::all_to_all, "pairwise", others, other_blocks, other_blocks, copies},
      {C::all_to_all, "direct", [](const Case& c) { return (c.n - 1 + 15) / 16; }, other_blocks,
       other_blocks, copies},
  };
  return expected;
}

void PrintTo(const Expected& expected, std::ostream* out) {
  *out << to_string(expected.collective) << ' ' << expected.spec;
}

bool serves(const Expected& expected, int ranks) {
  return expected.spec != "recursive_doubling" || std::has_single_bit(static_cast<unsigned>(ranks));
}

/// All roots of few ranks, and some of many.
std::vector<int> roots(Collective collective, int ranks) {
  if (!has_root(collective)) return {0};
  if (ranks > 9) return {0, 1, ranks / 2 - 1, ranks / 2, ranks - 1};
  std::vector<int> every(static_cast<std::size_t>(ranks));
  std::iota(every.begin(), every.end(), 0);
  return every;
}

/// What can be asked of an algorithm with n ranks: every root and placement.
std::vector<Request> requests(const Expected& expected, int ranks) {
  std::vector<Request> all_of_them;
  if (!serves(expected, ranks)) return {};
  for (const int root : roots(expected.collective, ranks))
    for (const bool in_place : {false, true})
      if (!in_place || expected.collective != Collective::all_to_all)
        all_of_them.push_back({expected.collective, ranks, root, in_place});
  return all_of_them;
}

/// n = 2 .. 17 and 32.
std::vector<Request> all_requests(const Expected& expected) {
  std::vector<Request> all_of_them;
  for (int ranks = 2; ranks <= 32; ranks += ranks == 17 ? 15 : 1)
    for (const Request& request : requests(expected, ranks)) all_of_them.push_back(request);
  return all_of_them;
}

std::string words(const Request& request) {
  return fmt::format("{} ranks, root {}, {}", request.ranks, request.root,
                     request.in_place ? "in place" : "out of place");
}

constexpr Number unit = 64;  // bytes of a rank's share of the data

Case case_of(const Request& request) {
  const auto n = static_cast<Number>(request.ranks);
  return {n, n * unit, static_cast<Number>(request.root)};
}

/// The cost with equal blocks, `s` bytes in all (all_to_all: for every rank).
Cost cost_of_case(const Plan& plan) {
  const auto blocks = static_cast<std::size_t>(block_count(plan.request()));
  const std::size_t share = blocks == 1 ? case_of(plan.request()).s : unit;
  return cost_of(plan, std::vector<std::size_t>(blocks, share), 1);
}

testing::AssertionResult is_right(const Plan& plan) {
  const Proof proof = prove(plan);
  if (!proof.holds())
    return testing::AssertionFailure() << fmt::format(
               "{} ({}): {}", plan.spec(), words(plan.request()), proof.refuted->message);
  return testing::AssertionSuccess();
}

class EveryCollective : public testing::TestWithParam<Expected> {};

TEST_P(EveryCollective, IsRightForAnyNumberOfRanksAndAnyRootInBothPlacements) {
  for (const Request& request : all_requests(GetParam()))
    EXPECT_TRUE(is_right(make_plan(GetParam().spec, request)));
}

TEST_P(EveryCollective, TakesTheStepsOfItsFormula) {
  for (const Request& request : all_requests(GetParam()))
    EXPECT_EQ(static_cast<Number>(cost_of_case(make_plan(GetParam().spec, request)).steps),
              GetParam().steps(case_of(request)))
        << words(request);
}

TEST_P(EveryCollective, SendsAndReceivesTheBytesOfItsFormulas) {
  for (const Request& request : all_requests(GetParam())) {
    const Cost cost = cost_of_case(make_plan(GetParam().spec, request));
    EXPECT_EQ(cost.busiest_sent(), GetParam().sent(case_of(request))) << words(request);
    EXPECT_EQ(cost.busiest_received(), GetParam().received(case_of(request))) << words(request);
  }
}

TEST_P(EveryCollective, HasTheFactsOfItsPage) {
  const Facts& expected = GetParam().facts;
  for (const Request& request : all_requests(GetParam())) {
    SCOPED_TRACE(words(request));
    const ProofFacts facts = prove(make_plan(GetParam().spec, request)).facts;
    EXPECT_TRUE(facts.same_on_all_ranks);  // only one rank ends with each sum
    EXPECT_TRUE(facts.rank_order || !expected.rank_order);
    EXPECT_TRUE(facts.one_rounding || !expected.one_rounding);
    EXPECT_TRUE(facts.uniform || !expected.uniform);
    if (request.ranks < 4) continue;
    // A chain that ends at the last rank began at rank 0.
    const bool in_order = GetParam().collective == Collective::reduce &&
                          GetParam().spec == "chain" && request.root == request.ranks - 1;
    EXPECT_EQ(facts.rank_order, expected.rank_order || in_order);
    EXPECT_EQ(facts.one_rounding, expected.one_rounding);
    EXPECT_EQ(facts.uniform, expected.uniform);
  }
}

TEST_P(EveryCollective, ComputesTheSameWithAnySlicesAndLanesAndItsWaitsAreComplete) {
  for (const int n : {2, 3, 4, 5, 8})
    for (const Request& request : requests(GetParam(), n)) {
      const Plan whole = make_plan(GetParam().spec, request);
      EXPECT_NO_THROW(check_waits(whole, make_schedule(whole))) << words(request);
      for (const char* cut : {"slices=2", "slices=7,lanes=1", "slices=4,lanes=8,depth=1", "lanes=3",
                              "slices=64,lanes=4,depth=64"}) {
        const Plan plan = make_plan(with_parameters(GetParam().spec, cut), request);
        SCOPED_TRACE(fmt::format("{}, {}", plan.spec(), words(request)));
        EXPECT_TRUE(is_right(plan));
        EXPECT_FALSE(difference_in_bits(whole, plan).has_value());
        EXPECT_EQ(cost_of_case(plan).sent, cost_of_case(whole).sent);
        if (n > 5) continue;
        EXPECT_NO_THROW(check_waits(plan, make_schedule(plan)));
      }
    }
}

TEST_P(EveryCollective, OfOneRankIsACopy) {
  for (const Request& request : requests(GetParam(), 1)) {
    const Plan plan = make_plan(GetParam().spec, request);
    EXPECT_TRUE(is_right(plan));
    EXPECT_EQ(cost_of_case(plan).transfers, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, EveryCollective, testing::ValuesIn(all_expected()),
                         [](const auto& tested) {
                           return fmt::format("{}_by_{}", to_string(tested.param.collective),
                                              tested.param.spec);
                         });

TEST(EveryCollectiveOfEveryBuiltIn, IsExpectedHere) {
  std::set<std::pair<Collective, std::string>> expected, registered;
  for (const Expected& e : all_expected()) expected.emplace(e.collective, e.spec);
  for (const AlgorithmInfo& info : builtin_algorithms())
    for (const Collective collective : info.collectives)
      if (collective != Collective::all_reduce) registered.emplace(collective, info.name);
  EXPECT_EQ(registered, expected);
}

/// Every byte that a rank receives is one that it lacked: no copy is made twice.
TEST(Copies, NeverBringAChunkTwiceToOneRank) {
  for (const Expected& expected : all_expected()) {
    if (expected.collective == Collective::reduce ||
        expected.collective == Collective::reduce_scatter)
      continue;
    for (const int n : {2, 3, 5, 8, 11})
      for (const Request& request : requests(expected, n)) {
        const Plan plan = make_plan(expected.spec, request);
        std::set<std::pair<int, int>> brought;  // rank, chunk
        for (std::size_t i = 0; i < plan.size(); ++i) {
          const Op op = plan.op(i);
          for (const Location& to : op.destinations)
            for (int chunk = to.chunk; chunk < to.chunk + op.count; ++chunk)
              EXPECT_TRUE(to.rank == op.sources.front().rank ||
                          brought.emplace(to.rank, chunk).second)
                  << plan.spec() << ", " << words(request) << ": " << describe(plan, i);
        }
      }
  }
}

TEST(Chain, OfOneWayWithSlicesIsAPipeline) {
  for (const Collective collective : {Collective::broadcast, Collective::reduce})
    for (const int n : {2, 3, 8})
      for (const int k : {2, 16, 64})
        for (const int root : {0, n - 1}) {
          const Plan plan = make_plan(fmt::format("chain:slices={}", k), {collective, n, root});
          EXPECT_EQ(cost_of_case(plan).steps, n - 1 + k - 1) << n << " ranks, " << k << " slices";
        }
}

/// The links that carry something, as (from, to).
std::set<std::pair<int, int>> links_of(const Plan& plan) {
  std::set<std::pair<int, int>> links;
  for (const LinkBytes& link : cost_of_case(plan).links) links.emplace(link.from, link.to);
  return links;
}

TEST(Chain, OfOneWayFollowsItsOrderRotatedToTheRoot) {
  using Links = std::set<std::pair<int, int>>;
  const Request broadcast{Collective::broadcast, 4, 0}, reduce{Collective::reduce, 4, 0};
  EXPECT_EQ(links_of(make_plan("chain:order=2-0-3-1", broadcast)), (Links{{0, 3}, {3, 1}, {1, 2}}));
  EXPECT_EQ(links_of(make_plan("chain:order=2-0-3-1", reduce)), (Links{{3, 1}, {1, 2}, {2, 0}}));
}

TEST(Ring, OfOneHalfFollowsItsOrder) {
  using Links = std::set<std::pair<int, int>>;
  const Links ring = {{2, 0}, {0, 3}, {3, 1}, {1, 2}};
  for (const Collective collective : {Collective::reduce_scatter, Collective::all_gather})
    for (const bool in_place : {false, true}) {
      const Plan plan = make_plan("ring:order=2-0-3-1", {collective, 4, 0, in_place});
      EXPECT_TRUE(is_right(plan));
      EXPECT_EQ(links_of(plan), ring);
    }
  for (int root = 0; root < 4; ++root) {
    const Plan plan =
        make_plan("scatter_all_gather:order=2-0-3-1", {Collective::broadcast, 4, root});
    EXPECT_TRUE(is_right(plan));
    for (const auto& link : links_of(plan))
      EXPECT_TRUE(link.first == root || ring.count(link) > 0) << link.first << " " << link.second;
  }
}

/// What a rank's output holds in the end, added up of whom and how, does not depend on the root.
TEST(Binomial, ReducesInTheSameOrderForEveryRoot) {
  const auto fold_pairs = [](const Plan& plan) {
    std::multiset<std::pair<std::set<int>, std::set<int>>> folds;
    std::vector<std::set<int>> ranks_in(static_cast<std::size_t>(plan.ranks()));
    for (int rank = 0; rank < plan.ranks(); ++rank)
      ranks_in[static_cast<std::size_t>(rank)] = {rank};
    for (std::size_t i = 0; i < plan.size(); ++i) {
      const Op op = plan.op(i);
      const auto lower = ranks_in[static_cast<std::size_t>(op.sources[0].rank)];
      const auto upper = ranks_in[static_cast<std::size_t>(op.sources[1].rank)];
      folds.emplace(lower, upper);
      auto& sum = ranks_in[static_cast<std::size_t>(op.destinations[0].rank)];
      sum = lower;
      sum.insert(upper.begin(), upper.end());
    }
    return folds;
  };
  for (const int n : {2, 3, 5, 6, 8, 13}) {
    const auto of_root_0 = fold_pairs(make_plan("binomial", {Collective::reduce, n, 0}));
    for (int root = 1; root < n; ++root)
      EXPECT_EQ(fold_pairs(make_plan("binomial", {Collective::reduce, n, root})), of_root_0);
  }
}

/// Scratch of the neediest rank, in shares of the data (a block of n).
Number scratch_shares(const char* spec, const Request& request) {
  const Cost cost = cost_of_case(make_plan(spec, request));
  return *std::max_element(cost.scratch.begin(), cost.scratch.end()) / unit;
}

TEST(Scratch, IsWhatThePagesSay) {
  for (const bool in_place : {false, true}) {
    const auto of = [&](Collective collective, int n, int root = 0) {
      return Request{collective, n, root, in_place};
    };
    EXPECT_EQ(scratch_shares("ring", of(Collective::reduce_scatter, 8)), 6u);
    EXPECT_EQ(scratch_shares("recursive_halving", of(Collective::reduce_scatter, 8)), 4u);
    EXPECT_EQ(scratch_shares("recursive_halving", of(Collective::reduce_scatter, 7)), 7u);
    EXPECT_EQ(scratch_shares("binomial", of(Collective::reduce, 8, 3)), 8u);
    EXPECT_EQ(scratch_shares("binomial", of(Collective::scatter, 8, 3)), 4u);
    EXPECT_EQ(scratch_shares("binomial", of(Collective::gather, 8, 3)), 4u);
    for (const Expected& e : all_expected()) {
      const bool placed = !in_place || e.collective != Collective::all_to_all;
      if (!e.facts.one_rounding || e.spec == "binomial" || !placed) continue;
      EXPECT_EQ(scratch_shares(e.spec.c_str(), of(e.collective, 8)), 0u) << e.spec;
    }
  }
}

TEST(Pairwise, HasOnePartnerAStepForPowersOfTwo) {
  const Plan plan = make_plan("pairwise", {Collective::all_to_all, 8});
  for (int step = 1; step < 8; ++step)
    for (int rank = 0; rank < 8; ++rank) {
      const Op op = plan.op(static_cast<std::size_t>(8 * (step - 1) + rank));
      EXPECT_EQ(op.rank, rank);
      EXPECT_EQ(op.sources.front().rank ^ op.rank, step);
    }
}

TEST(Refusals, OfACollectiveSayWhy) {
  const auto refusal = [](const char* spec, const Request& request) {
    try {
      (void)make_plan(spec, request);
    } catch (const Error& error) {
      return fmt::format("{}: {}", to_string(error.code()), error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal("recursive_doubling", {Collective::all_gather, 6}),
            "unsupported: recursive_doubling does all_gather for powers of two only, not for 6 "
            "ranks: bruck does it for any number");
  EXPECT_EQ(refusal("bruck", {Collective::all_reduce, 4}),
            "unsupported: bruck does not do all_reduce");
  EXPECT_EQ(refusal("linear", {Collective::barrier, 4}), "unsupported: linear does not do barrier");
}

OpStream torn_scratch(Group g) {
  co_yield g.copy(0, 1, 2, 2);
  co_yield g.copy(0, 1, 1, 2);  // partly in the scratch of the op before
}

TEST(RunningValues, InOverlappingRunsOfScratchAreRefused) {
  Builder builder({Collective::scatter, 4, 0}, {}, 1);
  OpStream ops = torn_scratch(Group(builder));
  const Op* first = ops.next();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->destinations.front(), test::scratch(1, 0, 2));
  EXPECT_THROW((void)ops.next(), Error);
}

}  // namespace
}  // namespace ringside
