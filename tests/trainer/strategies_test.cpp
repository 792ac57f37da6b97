// SPDX-License-Identifier: MIT
/// k ranks with a k-th of the batch each learn what one rank with all of it learns, whatever the
/// strategy and the algorithm; overlapping changes no bit.
#include "ringside/trainer/strategies/strategy.hpp"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "ringside/tests/trainer/learning.hpp"

namespace ringside::tests {
namespace {

using trainer::Checkpoint;
using trainer::StrategyKind;
using trainer::TrainingSettings;

/// What training with these settings leaves.
Checkpoint end_of(int ranks, const TrainingSettings& settings) {
  return train_on(ranks, mlp_engine(), settings).end;
}

/// Ten steps in float64, the last of an epoch ragged.
TrainingSettings ten_steps(StrategyKind kind) {
  TrainingSettings settings = small_settings(kind, ElementType::float64);
  settings.epochs = 3;
  settings.steps = 10;
  return settings;
}

const Checkpoint& one_rank() {
  static const Checkpoint end = end_of(1, ten_steps(StrategyKind::single));
  return end;
}

/// Float64 is exact to 1e-16; a sum of 64 gradients in another order to some of that.
constexpr double exact = 1e-12;

class Identity : public ::testing::TestWithParam<std::tuple<int, StrategyKind, std::string>> {};

TEST_P(Identity, RanksTogetherLearnWhatOneLearns) {
  const auto& [ranks, kind, algorithm] = GetParam();
  TrainingSettings settings = ten_steps(kind);
  settings.strategy.algorithm = algorithm;
  EXPECT_LT(worst_difference<double>(end_of(ranks, settings), one_rank()), exact);
}

INSTANTIATE_TEST_SUITE_P(
    AllReduce, Identity,
    ::testing::Combine(::testing::Values(2, 3, 4),
                       ::testing::Values(StrategyKind::from_scratch, StrategyKind::distributed),
                       ::testing::Values("", "naive", "ring", "two_shot", "double_tree")));
INSTANTIATE_TEST_SUITE_P(Reduce, Identity,
                         ::testing::Combine(::testing::Values(2, 3, 4),
                                            ::testing::Values(StrategyKind::data_parallel),
                                            ::testing::Values("", "binomial", "chain")));

INSTANTIATE_TEST_SUITE_P(ReduceScatter, Identity,
                         ::testing::Combine(::testing::Values(2, 3, 4),
                                            ::testing::Values(StrategyKind::sharded),
                                            ::testing::Values("", "ring")));

class EveryStrategy : public ::testing::TestWithParam<StrategyKind> {};

TEST_P(EveryStrategy, InFloat32HasTheGradientsOfOneRankAtTheFirstStep) {
  // After one step the momentum is the gradient over the samples.
  const auto first_gradient = [](int ranks, StrategyKind kind) {
    TrainingSettings settings = small_settings(kind);
    settings.steps = 1;
    settings.momentum = 0.5;
    Checkpoint end = end_of(ranks, settings);
    std::erase_if(end.tensors, [](const trainer::SavedTensor& tensor) {
      return !tensor.name.starts_with("velocity/");
    });
    return end;
  };
  EXPECT_LT(worst_difference<float>(first_gradient(3, GetParam()),
                                    first_gradient(1, StrategyKind::single)),
            1e-4);
}

TEST_P(EveryStrategy, LearnsTheSameFromABatchInPieces) {
  TrainingSettings settings = ten_steps(GetParam());
  settings.pieces = 3;
  EXPECT_LT(worst_difference<double>(end_of(2, settings), one_rank()), exact);
}

TEST_P(EveryStrategy, LearnsTheSameWhereSomeRanksHaveNoSamples) {
  const auto three_at_a_time = [](int ranks, StrategyKind kind) {
    TrainingSettings settings = ten_steps(kind);
    settings.batch = 3;
    return end_of(ranks, settings);
  };
  EXPECT_LT(worst_difference<double>(three_at_a_time(5, GetParam()),
                                     three_at_a_time(1, StrategyKind::single)),
            exact);
}

TEST_P(EveryStrategy, LearnsFromGradientsThatTravelAsBfloat16) {
  TrainingSettings settings = small_settings(GetParam());
  const Checkpoint wide = end_of(2, settings);
  settings.strategy.narrow_wire = true;
  const Checkpoint narrow = end_of(2, settings);
  const double difference =
      relative_difference<float>(numbers_of<float>(narrow), numbers_of<float>(wide));
  EXPECT_GT(difference, 0) << "nothing was rounded";
  EXPECT_LT(difference, 1e-2);  // 8 bits of the gradients, which are part of the parameters
}

TEST_P(EveryStrategy, LearnsTheSameInUnequalShares) {
  for (const std::size_t pieces : {1, 3}) {
    TrainingSettings settings = ten_steps(GetParam());
    settings.pieces = pieces;
    settings.strategy.shares = {5, 1, 3};
    EXPECT_LT(worst_difference<double>(end_of(3, settings), one_rank()), exact) << pieces;
  }
}

TEST_P(EveryStrategy, LearnsTheSameWhereSharesAreMeasured) {
  TrainingSettings settings = small_settings(GetParam(), ElementType::float64);
  settings.epochs = 4;  // of 4 steps
  const Checkpoint equal = end_of(1, [&] {
    TrainingSettings one = settings;
    one.strategy.kind = StrategyKind::single;
    return one;
  }());
  settings.measured_shares = true;
  settings.strategy.slow_ranks = {1, 200};
  const Trained trained = train_on(2, mlp_engine(), settings);
  EXPECT_LT(worst_difference<double>(trained.end, equal), exact);
  const auto& shares = trained.reports.back().balance.back().shares;
  ASSERT_EQ(shares.size(), 2U);
  EXPECT_GT(shares[0], shares[1]);
}

INSTANTIATE_TEST_SUITE_P(Strategies, EveryStrategy,
                         ::testing::Values(StrategyKind::data_parallel, StrategyKind::from_scratch,
                                           StrategyKind::distributed, StrategyKind::sharded));

TEST(Distributed, GivesTheSameBitsOverlappedOrNot) {
  for (const int ranks : {2, 3, 4})
    for (const bool narrow : {false, true}) {
      TrainingSettings settings = small_settings(StrategyKind::distributed);
      settings.strategy.narrow_wire = narrow;
      settings.strategy.buckets.bytes = 256;
      const Checkpoint overlapped = end_of(ranks, settings);
      settings.strategy.overlap = false;
      EXPECT_TRUE(same_bits(overlapped, end_of(ranks, settings))) << ranks << narrow;
    }
}

TEST(Distributed, GivesTheSameBitsForEveryBucketSizeWhereTheAlgorithmIsUniform) {
  TrainingSettings settings = small_settings(StrategyKind::distributed);
  settings.strategy.algorithm = "recursive_doubling";
  const Checkpoint end = end_of(3, settings);
  for (const std::uint64_t bytes : {1ULL, 3000ULL, 1ULL << 30U}) {
    settings.strategy.buckets.bytes = bytes;
    EXPECT_TRUE(same_bits(end, end_of(3, settings))) << bytes;
  }
}

TEST(FromScratch, GivesTheBitsOfDistributedWhereTheAlgorithmIsUniform) {
  TrainingSettings settings = small_settings(StrategyKind::distributed);
  settings.strategy.algorithm = "two_shot";
  const Checkpoint end = end_of(4, settings);
  settings.strategy.kind = StrategyKind::from_scratch;
  EXPECT_TRUE(same_bits(end, end_of(4, settings)));
}

TEST(Strategies, HaveNames) {
  for (const auto name : trainer::strategy_names())
    EXPECT_EQ(trainer::to_string(trainer::parse_strategy(name).value()), name);
  EXPECT_FALSE(trainer::parse_strategy("ddp"));
}

}  // namespace
}  // namespace ringside::tests
