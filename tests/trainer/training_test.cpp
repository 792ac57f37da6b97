// SPDX-License-Identifier: MIT
/// Training as a whole: that it learns, goes on exactly where it was, and reports what happened.
#include "ringside/trainer/training.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "ringside/tests/trainer/learning.hpp"
#include "ringside/trainer/report.hpp"

namespace ringside::tests {
namespace {

using trainer::Checkpoint;
using trainer::Part;
using trainer::StrategyKind;
using trainer::TrainingSettings;

TEST(Training, Learns) {
  TrainingSettings settings = small_settings(StrategyKind::distributed);
  settings.epochs = 40;  // the first weights are so small that some epochs learn nothing
  settings.rate = 0.2;
  settings.model.width = 64;
  const auto reports = train_on(2, mlp_engine(), settings).reports;
  ASSERT_EQ(reports.size(), 40U);
  EXPECT_GT(reports.back().test->accuracy(), 0.9);
  EXPECT_LT(reports.back().training.loss, reports.front().training.loss);
}

/// Trains with `before` for so many steps, and with `after` from that checkpoint to the end.
Checkpoint in_two_parts(int ranks_before, TrainingSettings before, std::int64_t steps,
                        int ranks_after, TrainingSettings after) {
  before.steps = steps;
  after.resume = std::make_shared<Checkpoint>(train_on(ranks_before, mlp_engine(), before).end);
  return train_on(ranks_after, mlp_engine(), after).end;
}

TEST(Training, ThatIsResumedEndsWithTheBitsOfOneThatWasNot) {
  for (const StrategyKind kind :
       {StrategyKind::data_parallel, StrategyKind::from_scratch, StrategyKind::distributed}) {
    TrainingSettings settings = small_settings(kind);
    settings.momentum = 0.9;
    settings.warmup_epochs = 1.5;
    const Checkpoint whole = train_on(3, mlp_engine(), settings).end;
    EXPECT_EQ(whole.position, (trainer::Position{2, 0}));
    for (const std::int64_t steps : {2, 4, 7})  // an epoch has 4
      EXPECT_TRUE(same_bits(in_two_parts(3, settings, steps, 3, settings), whole))
          << to_string(kind) << ", after step " << steps;
  }
}

TEST(Training, IsResumedWithAnotherStrategyAndNumberOfRanks) {
  const auto of = [](StrategyKind kind) { return small_settings(kind, ElementType::float64); };
  const Checkpoint whole = train_on(1, mlp_engine(), of(StrategyKind::single)).end;
  const Checkpoint parts =
      in_two_parts(4, of(StrategyKind::data_parallel), 5, 3, of(StrategyKind::distributed));
  EXPECT_LT(worst_difference<double>(parts, whole), 1e-12);
}

TEST(Training, OfNothingLeftMakesNoStep) {
  TrainingSettings settings = small_settings(StrategyKind::single);
  auto end = train_on(1, mlp_engine(), settings).end;
  settings.resume = std::make_shared<Checkpoint>(std::move(end));
  World world = World::threads(1);
  trainer::Observer nobody;
  EXPECT_TRUE(trainer::train(world, mlp_engine(), small_data(), settings, nobody).empty());
}

TEST(Training, ReportsWhatHappened) {
  TrainingSettings settings = small_settings(StrategyKind::distributed);
  settings.warmup_from = 0.02;
  settings.warmup_epochs = 2;
  const auto reports = train_on(3, mlp_engine(), settings).reports;
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[0].epoch, 1);
  EXPECT_EQ(reports[1].epoch, 2);
  for (const auto& report : reports) {
    EXPECT_EQ(report.steps, 4);
    EXPECT_EQ(report.samples, 203);
    EXPECT_EQ(report.training.samples, 203);
    EXPECT_EQ(report.test->samples, 101);
    EXPECT_GT(report.seconds, 0);
    EXPECT_GT(report.processor_seconds, 0);
    ASSERT_EQ(report.ranks.size(), 3U);
    for (const auto& rank : report.ranks) {
      EXPECT_GT(rank.times[Part::forward], 0);
      EXPECT_GT(rank.times[Part::backward], 0);
      EXPECT_GT(rank.times[Part::exposed], 0);
      double sum = 0;
      for (const Part part :
           {Part::data, Part::forward, Part::backward, Part::exposed, Part::update})
        sum += rank.times[part];
      EXPECT_LE(sum, report.seconds);
      EXPECT_GT(rank.peak_bytes, 2 * 4 * 784 * 16U) << "parameters and gradients at least";
    }
  }
  EXPECT_DOUBLE_EQ(reports[0].rate, 0.02 + (0.1 - 0.02) / 2);
  EXPECT_DOUBLE_EQ(reports[1].rate, 0.1);
  EXPECT_NE(reports[0].parameters, reports[1].parameters);
}

TEST(Training, TellsDeviceZerosLoadOfDataParallel) {
  TrainingSettings settings = small_settings(StrategyKind::data_parallel);
  settings.batch = 200;
  const auto ranks = train_on(4, mlp_engine(), settings).reports.back().ranks;
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    EXPECT_GT(ranks[0].peak_bytes, ranks[rank].peak_bytes);
    EXPECT_GT(ranks[0].times[Part::update], ranks[rank].times[Part::update]);
    EXPECT_EQ(ranks[rank].times[Part::update], 0);
    EXPECT_GT(ranks[rank].processor_seconds, 0);
  }
}

TEST(FirstRankLoad, IsThatOfRankZeroBesideTheMeanOfTheOthers) {
  trainer::EpochReport report;
  for (const auto& [seconds, bytes] : {std::pair{6.0, 450}, {1.0, 100}, {3.0, 200}})
    report.ranks.push_back({{}, seconds, static_cast<std::uint64_t>(bytes), {}});
  EXPECT_DOUBLE_EQ(trainer::first_rank_load(report).work, 3);
  EXPECT_DOUBLE_EQ(trainer::first_rank_load(report).memory, 3);
  report.ranks.resize(1);
  EXPECT_DOUBLE_EQ(trainer::first_rank_load(report).work, 1);
}

TEST(Training, WithoutAThreadForDataIsTheSame) {
  TrainingSettings settings = small_settings(StrategyKind::from_scratch);
  const Checkpoint ahead = train_on(2, mlp_engine(), settings).end;
  settings.prefetch = 0;
  EXPECT_TRUE(same_bits(ahead, train_on(2, mlp_engine(), settings).end));
}

TEST(Training, OverSlowWiresIsTheSameAndLonger) {
  TrainingSettings settings = small_settings(StrategyKind::from_scratch);
  const Trained fast = train_on(2, mlp_engine(), settings);
  settings.wire = 5e6;
  const Trained slow = train_on(2, mlp_engine(), settings);
  EXPECT_TRUE(same_bits(fast.end, slow.end));
  const double bytes = 4 * 4 * 784 * 16;  // of an epoch's four steps, the biases left out
  EXPECT_GE(slow.reports[0].ranks[0].times[Part::exposed], bytes / settings.wire);
}

TEST(Training, TellsItsObserver) {
  class Counter : public trainer::Observer {
   public:
    void before_step(int rank, const trainer::Position& /*position*/) override {
      if (rank == 0) ++before;
    }
    void after_step(std::int64_t done, std::int64_t of, std::size_t samples) override {
      EXPECT_EQ(done, before);
      EXPECT_EQ(of, 8);
      all += samples;
    }
    void after_epoch(const trainer::EpochReport& report) override { epochs = report.epoch; }
    std::int64_t before = 0;
    std::size_t all = 0;
    int epochs = 0;
  } counter;
  World world = World::threads(2);
  (void)trainer::train(world, mlp_engine(), small_data(),
                       small_settings(StrategyKind::from_scratch), counter);
  EXPECT_EQ(counter.before, 8);
  EXPECT_EQ(counter.all, 2 * 203U);
  EXPECT_EQ(counter.epochs, 2);
}

}  // namespace
}  // namespace ringside::tests
