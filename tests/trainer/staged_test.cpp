// SPDX-License-Identifier: MIT
/// Training over GPUs has the bits of training at the host.
#include <gtest/gtest.h>

#include <vector>

#include "ringside/tests/collectives/cuda/gpu_test.hpp"
#include "ringside/tests/trainer/learning.hpp"

namespace ringside::tests {
namespace {

using trainer::StrategyKind;

class OverGpus : public GpuTest {};

/// On the double, a GPU each.
std::vector<int> gpus_of_three_ranks() {
  return fakecuda::Control::present() ? std::vector{0, 1, 2} : std::vector{0};
}

TEST_F(OverGpus, EveryStrategyLearnsTheBitsOfTheHost) {
  const auto engine = trainer::engine_for(trainer::Model::mlp);
  for (const StrategyKind kind : {StrategyKind::data_parallel, StrategyKind::from_scratch,
                                  StrategyKind::distributed, StrategyKind::sharded}) {
    trainer::TrainingSettings settings = small_settings(kind);
    settings.epochs = 1;
    settings.strategy.algorithm = kind == StrategyKind::data_parallel ? "binomial"
                                  : kind == StrategyKind::sharded     ? "direct"
                                                                      : "two_shot";
    settings.strategy.buckets.bytes = 1000;
    const auto at_host = train_on(3, *engine, settings).end;
    settings.backend = {trainer::BackendKind::cuda, gpus_of_three_ranks()};
    EXPECT_TRUE(same_bits(train_on(3, *engine, settings).end, at_host)) << to_string(kind);
  }
}

TEST_F(OverGpus, APipelineLearnsTheBitsOfTheHost) {
  const auto engine = trainer::engine_for(trainer::Model::mlp);
  trainer::TrainingSettings settings = small_settings(StrategyKind::pipeline);
  settings.epochs = 1;
  const auto at_host = train_on(2, *engine, settings).end;
  settings.backend = {trainer::BackendKind::cuda, gpus_of_three_ranks()};
  EXPECT_TRUE(same_bits(train_on(2, *engine, settings).end, at_host));
}

}  // namespace
}  // namespace ringside::tests
