// SPDX-License-Identifier: MIT
/// `sharded` learns what `distributed` does, in both stages, and a rank holds no more than its part
/// of what is sharded.
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "ringside/tests/trainer/learning.hpp"
#include "ringside/trainer/strategies/sharded.hpp"

namespace ringside::tests {
namespace {

using trainer::Checkpoint;
using trainer::MemoryUse;
using trainer::StrategyKind;
using trainer::TrainingSettings;

/// With momentum, so that there is something to shard.
TrainingSettings with_momentum(StrategyKind kind, ElementType precision = ElementType::float64) {
  TrainingSettings settings = small_settings(kind, precision);
  settings.momentum = 0.9;
  settings.decay = 1e-3;
  return settings;
}

Checkpoint end_of(int ranks, const TrainingSettings& settings) {
  return train_on(ranks, mlp_engine(), settings).end;
}

class Stage : public ::testing::TestWithParam<int> {
 protected:
  static TrainingSettings settings(ElementType precision = ElementType::float64) {
    TrainingSettings own = with_momentum(StrategyKind::sharded, precision);
    own.strategy.zero_stage = GetParam();
    return own;
  }
  static MemoryUse memory_of(int ranks, const TrainingSettings& of) {
    MemoryUse most;
    const auto reports = train_on(ranks, mlp_engine(), of).reports;
    for (const auto& rank : reports.back().ranks) {
      most.parameters = std::max(most.parameters, rank.memory.parameters);
      most.gradients = std::max(most.gradients, rank.memory.gradients);
      most.optimizer = std::max(most.optimizer, rank.memory.optimizer);
      most.staging = std::max(most.staging, rank.memory.staging);
    }
    return most;
  }
};

TEST_P(Stage, LearnsWhatOneRankDoes) {
  const Checkpoint one = end_of(1, with_momentum(StrategyKind::single));
  for (const int ranks : {1, 2, 3, 4, 7})
    for (const std::size_t pieces : {1, 3}) {
      TrainingSettings own = settings();
      own.pieces = pieces;
      EXPECT_LT(worst_difference<double>(end_of(ranks, own), one), 1e-12)
          << ranks << " ranks, " << pieces << " pieces";
    }
}

TEST_P(Stage, GivesTheSameBitsOverlappedOrNotAndWhateverTheBuckets) {
  // In rank order, whatever the part: so buckets do not matter either.
  TrainingSettings own = settings(ElementType::float32);
  own.strategy.algorithm = "direct";
  for (const bool narrow : {false, true}) {
    own.strategy.narrow_wire = narrow;
    own.strategy.buckets = {};
    own.strategy.overlap = true;
    const Checkpoint end = end_of(3, own);
    own.strategy.overlap = false;
    EXPECT_TRUE(same_bits(end, end_of(3, own))) << narrow;
    own.strategy.overlap = true;
    own.strategy.buckets = {1000, 100};
    EXPECT_TRUE(same_bits(end, end_of(3, own))) << narrow;
  }
}

TEST_P(Stage, LearnsWhereRanksOutnumberSamplesAndElementsOfABucket) {
  TrainingSettings own = settings();
  own.model.width = 1;
  own.batch = 3;
  own.steps = 3;
  own.strategy.buckets = {24, 0};  // three numbers
  TrainingSettings one = own;
  one.strategy.kind = StrategyKind::single;
  EXPECT_LT(worst_difference<double>(end_of(5, own), end_of(1, one)), 1e-12);
}

TEST_P(Stage, GoesOnWhereDistributedWasAndTheOtherWay) {
  const Checkpoint whole = end_of(1, with_momentum(StrategyKind::single));
  const auto resumed = [](int ranks_before, TrainingSettings before, int ranks_after,
                          TrainingSettings after) {
    before.steps = 5;
    after.resume = std::make_shared<Checkpoint>(end_of(ranks_before, before));
    return end_of(ranks_after, after);
  };
  const auto distributed = with_momentum(StrategyKind::distributed);
  EXPECT_LT(worst_difference<double>(resumed(3, settings(), 2, distributed), whole), 1e-12);
  EXPECT_LT(worst_difference<double>(resumed(2, distributed, 3, settings()), whole), 1e-12);
  EXPECT_TRUE(same_bits(resumed(3, settings(), 3, settings()), end_of(3, settings())));
}

TEST_P(Stage, SavesTheMomentumOfDistributed) {
  // The same sums where all are in rank order.
  TrainingSettings own = settings(ElementType::float32);
  own.strategy.algorithm = "direct";
  TrainingSettings distributed = with_momentum(StrategyKind::distributed, ElementType::float32);
  distributed.strategy.algorithm = "two_shot";
  EXPECT_TRUE(same_bits(end_of(3, own), end_of(3, distributed)));
}

TEST_P(Stage, HoldsItsPartOfWhatItShards) {
  for (const int ranks : {2, 4})
    for (const bool narrow : {false, true}) {
      TrainingSettings own = settings(ElementType::float32);
      own.strategy.narrow_wire = narrow;
      TrainingSettings distributed = with_momentum(StrategyKind::distributed, ElementType::float32);
      distributed.strategy.narrow_wire = narrow;
      const MemoryUse all = memory_of(ranks, distributed);
      const MemoryUse part = memory_of(ranks, own);
      EXPECT_EQ(part.parameters, all.parameters);
      const double allowed = 1.0 / ranks + 0.1;
      EXPECT_LE(static_cast<double>(part.optimizer), allowed * static_cast<double>(all.optimizer));
      // All ranks together have all of it, but for what lies between tensors.
      EXPECT_GT(1.01 * static_cast<double>(part.optimizer) * ranks,
                static_cast<double>(all.optimizer));
      if (GetParam() == 1) continue;
      // What is on its way counts: gradients that are nowhere else.
      EXPECT_LE(static_cast<double>(part.gradients + part.optimizer + part.staging),
                allowed * static_cast<double>(all.gradients + all.optimizer))
          << ranks << narrow;
      EXPECT_GE(part.gradients * static_cast<std::uint64_t>(ranks), all.gradients);
    }
}

INSTANTIATE_TEST_SUITE_P(Sharded, Stage, ::testing::Values(1, 2));

TEST(Sharded, OfStageTwoHasLessMemoryAtTheMost) {
  TrainingSettings settings = with_momentum(StrategyKind::distributed, ElementType::float32);
  settings.model.width = 256;
  settings.steps = 1;
  settings.evaluate = false;
  const auto peak = [&](StrategyKind kind) {
    settings.strategy.kind = kind;
    return train_on(4, mlp_engine(), settings).reports.back().ranks[1].peak_bytes;
  };
  const std::uint64_t saved = peak(StrategyKind::distributed) - peak(StrategyKind::sharded);
  const std::uint64_t gradients = std::uint64_t{784} * 256 * 4;
  // Of gradients and momentum three quarters, but for what a backward pass makes at a time: mlp's
  // largest tensor is nearly all of its gradients. And an eighth is on its way.
  EXPECT_GT(saved, gradients / 4);
  EXPECT_LT(saved, gradients / 2);
}

TEST(Shards, AreAllElementsOnceAndKeptOneAfterAnother) {
  const std::vector<Extent> buckets = {{95, 5}, {17, 78}, {0, 17}};
  std::vector<int> owners(100);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    std::size_t kept = 0;
    for (const auto& shard : trainer::make_shards(buckets, 4, rank)) {
      EXPECT_EQ(std::accumulate(shard.blocks.begin(), shard.blocks.end(), std::size_t{0}),
                shard.bucket.length);
      EXPECT_EQ(shard.blocks[rank], shard.own.length);
      EXPECT_EQ(shard.kept.offset, kept);
      kept += shard.own.length;
      for (std::size_t i = 0; i < shard.own.length; ++i) ++owners[shard.own.offset + i];
    }
  }
  EXPECT_EQ(owners, std::vector<int>(100, 1));
}

}  // namespace
}  // namespace ringside::tests
