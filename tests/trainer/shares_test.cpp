// SPDX-License-Identifier: MIT
/// Shares of a batch: all samples once, nearly as asked for; by speed, so that ranks end together.
#include "ringside/trainer/shares.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "ringside/tests/support/sanitizers.hpp"
#include "ringside/tests/trainer/learning.hpp"
#include "ringside/trainer/report.hpp"

namespace ringside::tests {
namespace {

using trainer::StrategyKind;
using trainer::TrainingSettings;
using Shares = std::vector<std::int64_t>;

TEST(Shares, CoverAllSamplesAndAreNearlyAsAskedFor) {
  for (const Shares& shares : {Shares{3, 1}, Shares{1, 1, 1}, Shares{1000, 1, 333, 7}, Shares{5}})
    for (std::size_t samples = 0; samples < 300; ++samples) {
      const double all = static_cast<double>(std::accumulate(shares.begin(), shares.end(), 0L));
      std::size_t next = 0;
      for (std::size_t rank = 0; rank < shares.size(); ++rank) {
        const Extent own = trainer::share_of(samples, shares, shares.size(), rank);
        EXPECT_EQ(own.offset, next);
        next += own.length;
        EXPECT_LT(std::abs(static_cast<double>(own.length) -
                           static_cast<double>(samples) * static_cast<double>(shares[rank]) / all),
                  1);
      }
      EXPECT_EQ(next, samples);
    }
}

TEST(Shares, ThatAreNotGivenAreEqual) {
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const Extent own = trainer::share_of(203, {}, 3, rank);
    EXPECT_EQ(own.offset, part_of(203, 3, rank).offset);
    EXPECT_EQ(own.length, part_of(203, 3, rank).length);
  }
}

TEST(Shares, AreTheLargestForWhoIsTheFastest) {
  EXPECT_EQ(trainer::shares_by_speed(Shares{300, 100, 200}), (Shares{333, 1000, 500}));
  EXPECT_EQ(trainer::shares_by_speed(Shares{7}), (Shares{1000}));
  EXPECT_EQ(trainer::shares_by_speed(Shares{1, 100'000}), (Shares{1000, 1}));
}

// Milliseconds more, whatever else runs here.
constexpr int slowdown = address_sanitizer || thread_sanitizer ? 30 : 1000;

TrainingSettings one_slow_rank() {
  TrainingSettings settings = small_settings(StrategyKind::distributed);
  settings.epochs = 5;  // of 4 steps
  settings.strategy.slow_ranks = {1, slowdown};
  return settings;
}

TEST(SlowRanks, ComputeAsManyTimesLonger) {
  const auto balance = train_on(2, mlp_engine(), one_slow_rank()).reports.back().balance;
  ASSERT_EQ(balance.size(), 1U);
  EXPECT_EQ(balance[0].steps, 4);
  EXPECT_EQ(balance[0].ranks[0].samples + balance[0].ranks[1].samples, 203);
  EXPECT_GT(balance[0].ranks[1].computing, 2 * balance[0].ranks[0].computing);
}

TEST(SlowRanks, ChangeNoBit) {
  TrainingSettings settings = one_slow_rank();
  const auto slow = train_on(2, mlp_engine(), settings).end;
  settings.strategy.slow_ranks = {};
  EXPECT_TRUE(same_bits(slow, train_on(2, mlp_engine(), settings).end));
}

TEST(MeasuredShares, GiveTheSlowRankLessAndAreReportedBeforeAndAfter) {
  TrainingSettings settings = one_slow_rank();
  settings.measured_shares = true;
  const auto reports = train_on(2, mlp_engine(), settings).reports;
  // The tenth step is the second of the third epoch.
  ASSERT_EQ(reports[2].balance.size(), 2U);
  const auto &before = reports[2].balance[0], &after = reports[2].balance[1];
  EXPECT_TRUE(before.shares.empty());
  EXPECT_EQ(before.steps, 2);
  EXPECT_EQ(after.steps, 2);
  ASSERT_EQ(after.shares.size(), 2U);
  EXPECT_EQ(after.shares[0], 1000);
  EXPECT_LT(after.shares[1], 500);
  EXPECT_LT(after.ranks[1].samples, after.ranks[0].samples / 2);
  const std::string text = trainer::balance_table(settings, reports);
  for (const std::string& part :
       {fmt::format("rank 1 slowed: computes {} x as long", slowdown),
        std::string("# shares equal: 4 steps"), std::string("# shares 1000:")})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST(BalanceTable, OfGivenSharesWorksOutEqualOnes) {
  TrainingSettings settings;
  settings.strategy.shares = {3, 1};
  trainer::EpochReport report;
  report.balance = {{{3, 1}, 10, 400, 2, {{300, 1.5, 0.5}, {100, 1, 1}}}};
  const std::string text = trainer::balance_table(settings, {report});
  EXPECT_NE(text.find("equal shares they would compute 1.00, 2.00 s"), std::string::npos) << text;
  EXPECT_NE(text.find("at 200 samples/s; the least busy rank computes 50 %"), std::string::npos)
      << text;
  settings.strategy.shares = {};
  EXPECT_EQ(trainer::balance_table(settings, {report}), "");
}

TEST(BalanceTable, OfASplitNetworkTellsOfNoShares) {
  TrainingSettings settings;
  settings.strategy.kind = StrategyKind::pipeline;
  settings.strategy.slow_ranks = {1, 3};
  trainer::EpochReport report;
  report.balance = {{{}, 10, 300, 2, {{300, 1, 1}, {300, 2, 0}}}};
  const std::string text = trainer::balance_table(settings, {report});
  EXPECT_EQ(text.find("equal"), std::string::npos) << text;
  EXPECT_NE(text.find("# shares whole batches: 10 steps"), std::string::npos) << text;
}

TEST(BalanceTable, KnowsNothingOfARankWithoutSamples) {
  TrainingSettings settings;
  settings.strategy.shares = {1000, 1};
  trainer::EpochReport report;
  report.balance = {{{1000, 1}, 10, 300, 2, {{300, 1.5, 0.5}, {0, 0, 2}}}};
  const std::string text = trainer::balance_table(settings, {report});
  EXPECT_EQ(text.find("equal shares"), std::string::npos) << text;
  EXPECT_NE(text.find("2.00            -\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace ringside::tests
