// SPDX-License-Identifier: MIT
/// Plans of algorithms that are not ours: asked once, on a thread that is left behind if it must
/// be.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/outside.hpp"
#include "ringside/collectives/plan_cache.hpp"
#include "ringside/tests/support/outcome.hpp"
#include "ringside/tests/support/process.hpp"

namespace ringside::tests {
namespace {

constexpr Request request{Collective::all_reduce, 3, 0, true};
constexpr Seconds soon{0.05}, generous{10.0};

OpStream star(Group g) {
  for (int rank = 1; rank < g.ranks(); ++rank) co_yield g.combine(0, 0, rank, 0);
  for (int rank = 1; rank < g.ranks(); ++rank) co_yield g.copy(0, rank, 0);
}

/// Registers it under this name; does something before it is made.
void register_star(const std::string& name, const std::function<void()>& before) {
  register_algorithm(
      {.name = name, .summary = "", .make = [before](const Request&, const Parameters&) {
         before();
         return Algorithm{.write = star};
       }});
}

void wait_for(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(PlanCache, KnowsWhichAlgorithmsAreNotOurs) {
  register_star("outsider", [] {});
  EXPECT_EQ(outside_algorithm_in("ring:slices=2"), std::nullopt);
  EXPECT_EQ(outside_algorithm_in("./outsider.json"), std::nullopt);
  EXPECT_EQ(outside_algorithm_in("outsiders"), std::nullopt);
  EXPECT_EQ(outside_algorithm_in("outsider:slices=2"), "outsider");
  EXPECT_EQ(outside_algorithm_in("hierarchical:inner=outsider,outer=ring"), "outsider");
}

TEST(PlanCache, AskAnOutsiderOnceAlsoForWhatIsLowered) {
  std::atomic<int> asked{0};
  register_star("counted", [&] { ++asked; });
  PlanCache plain, lowered(AccessMatrix(3, std::vector<Access>(3, Access::direct)));
  const auto first = plain.get("counted", request);
  EXPECT_EQ(plain.get("counted", request), first);
  EXPECT_EQ(lowered.get(*first)->plan.size(), first->plan.size());
  EXPECT_EQ(lowered.get(*first), lowered.get(*first));
  EXPECT_EQ(asked, 1);
}

TEST(PlanCache, KeepAnOutsidersRefusal) {
  std::atomic<int> asked{0};
  register_star("moody", [&] {
    if (++asked == 1) throw std::runtime_error("not today\n");
  });
  PlanCache plans;
  const auto refusal = error_of([&] { (void)plans.get("moody", request); });
  EXPECT_EQ(refusal.first, ErrorCode::bad_input);
  EXPECT_EQ(refusal.second, "algorithm 'moody' threw an exception: \"not today\\n\"");
  EXPECT_EQ(error_of([&] { (void)plans.get("moody", request); }), refusal);
  EXPECT_EQ(asked, 1);
}

TEST(PlanCache, TellThatAnOutsiderThrewNoException) {
  register_star("number", [] { throw 42; });
  const auto refusal = error_of([] { (void)PlanCache().get("number", request); });
  EXPECT_EQ(refusal.first, ErrorCode::bad_input);
  EXPECT_EQ(refusal.second, "algorithm 'number' threw something that is no std::exception");
}

TEST(PlanCache, WaitForAnOutsiderNoLongerThanAskedAndTakeItsAnswerLater) {
  const int threads = thread_count();
  std::atomic<bool> go{false};
  std::string told;
  register_star("slow", [&] { wait_for(go); });
  PlanCache plans;
  const auto tell = [&](const std::string& algorithm) { told += algorithm + ";"; };
  const Stopwatch watch;
  const auto late = error_of([&] { (void)plans.get("slow", request, {soon, tell, {}}); });
  EXPECT_LT(watch.elapsed(), generous);
  EXPECT_EQ(late.first, ErrorCode::timeout);
  EXPECT_EQ(late.second,
            "planning all_reduce on 3 ranks, in place with slow has not ended after 50 ms");
  EXPECT_EQ(told, "slow;;");

  // It is asked nothing else meanwhile, by nobody.
  const Request other{Collective::all_reduce, 2, 0, true};
  PlanCache others;
  for (PlanCache* const cache : {&plans, &others}) {
    const auto stuck = error_of([&] { (void)cache->get("slow", other, {generous, {}, {}}); });
    EXPECT_EQ(stuck.first, ErrorCode::timeout);
    EXPECT_NE(stuck.second.find("has not come back from an earlier request"), std::string::npos);
  }
  EXPECT_LE(thread_count(), threads + 1);

  go = true;
  EXPECT_GT(plans.get("slow", request, {generous, {}, {}})->plan.size(), 0u);
  EXPECT_GT(plans.get("slow", other, {generous, {}, {}})->plan.size(), 0u);
}

TEST(PlanCache, MayGoBeforeAnOutsiderAnswers) {
  const int threads = thread_count();
  std::atomic<bool> go{false};
  register_star("late", [&] { wait_for(go); });
  {
    PlanCache plans;
    EXPECT_EQ(outcome_of([&] {
                (void)plans.get("late", request, {soon, {}, {}});
              }).code,
              ErrorCode::timeout);
  }
  go = true;
  const Stopwatch watch;
  while (thread_count() > threads && watch.elapsed() < generous) std::this_thread::yield();
  EXPECT_LE(thread_count(), threads);
}

TEST(PlanCache, StopWaitingForAnOutsiderWhenToldTo) {
  std::atomic<bool> go{false};
  register_star("interrupted", [&] { wait_for(go); });
  PlanCache plans;
  const auto look = [] { throw Error(ErrorCode::aborted, "enough"); };
  EXPECT_EQ(error_of([&] {
              (void)plans.get("interrupted", request, {generous, {}, look});
            }),
            std::pair(ErrorCode::aborted, std::string("enough")));
  go = true;
  EXPECT_GT(plans.get("interrupted", request)->plan.size(), 0u);
}

TEST(PlanCache, StopAnOutsiderThatWritesWithoutEnd) {
  register_algorithm(
      {.name = "verbose", .summary = "", .make = [](const Request&, const Parameters&) {
         return Algorithm{.write = [](Group g) -> OpStream {
           const std::vector<Location> many(1024, g.cur(0, 0));
           while (true) {
             const Location to = g.next(0, 0);
             co_yield g.op(0, many, {&to, 1});
           }
         }};
       }});
  PlanCache plans;
  const auto told = error_of([&] { (void)plans.get("verbose", request); });
  EXPECT_EQ(told.first, ErrorCode::bad_input);
  EXPECT_NE(told.second.find("more than 4194304 locations"), std::string::npos) << told.second;
}

}  // namespace
}  // namespace ringside::tests
