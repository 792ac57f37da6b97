// SPDX-License-Identifier: MIT
/// Overlapping hides communication: LeNet on 2 ranks over slow wires.
#include <gtest/gtest.h>

#include <cstdio>

#include "ringside/base/options.hpp"
#include "ringside/tests/trainer/learning.hpp"

namespace ringside::tests {
namespace {

using trainer::Part;
using trainer::StrategyKind;
using trainer::TrainingSettings;

/// Milliseconds of a step that rank 0 spent in collectives.
double exposed(const Trained& trained) {
  const auto& report = trained.reports.back();
  return 1e3 * report.ranks[0].times[Part::exposed] / static_cast<double>(report.steps);
}

TEST(Overlap, LeavesLessThanHalfOfTheCommunicationExposed) {
  const ScopedOption path("torch_engine", RINGSIDE_TORCH_ENGINE);
  const auto engine = trainer::engine_for(trainer::Model::lenet);
  const auto data = trainer::synthetic_dataset(256 * 12, 1, 1);
  TrainingSettings settings;
  settings.model = {.model = trainer::Model::lenet};
  settings.strategy.algorithm = "two_shot";  // uniform: buckets and tensors give the same bits
  settings.epochs = 1;
  settings.evaluate = false;
  settings.untimed_steps = 2;
  settings.wire = 50e6;  // the gradients take 10 ms, the backward pass some 20
  for (int round = 0; round < 3; ++round) {
    settings.strategy.kind = StrategyKind::from_scratch;
    const Trained behind = train_on(2, *engine, settings, data);
    settings.strategy.kind = StrategyKind::distributed;
    const Trained beside = train_on(2, *engine, settings, data);
    EXPECT_TRUE(same_bits(behind.end, beside.end));
    std::printf("exposed in a step (measured): from_scratch %.2f ms, distributed %.2f ms\n",
                exposed(behind), exposed(beside));
    EXPECT_LT(exposed(beside), exposed(behind) / 2);
  }
}

}  // namespace
}  // namespace ringside::tests
