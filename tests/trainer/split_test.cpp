// SPDX-License-Identifier: MIT
/// Ranks that share one network learn what one rank learns (lenet's cases need libtorch:
/// torch_test.cpp).
#include "ringside/trainer/strategies/split.hpp"

#include <gtest/gtest.h>

#include <string>

#include "ringside/tests/trainer/learning.hpp"

namespace ringside::tests {
namespace {

using trainer::Checkpoint;
using trainer::Model;
using trainer::StrategyKind;
using trainer::TrainingSettings;

trainer::Engine& engine() {
  static const auto mlp = trainer::engine_for(Model::mlp);
  return *mlp;
}

/// In float64, the last of an epoch's steps ragged, with momentum.
TrainingSettings ten_steps(StrategyKind kind) {
  TrainingSettings settings = small_settings(kind, ElementType::float64);
  settings.epochs = 3;
  settings.steps = 10;
  settings.momentum = 0.9;
  settings.decay = 0.01;
  return settings;
}

Checkpoint end_of(int ranks, const TrainingSettings& settings) {
  return train_on(ranks, engine(), settings).end;
}

const Checkpoint& one_rank() {
  static const Checkpoint end = end_of(1, ten_steps(StrategyKind::single));
  return end;
}

constexpr double exact = 1e-12;

TEST(Pipeline, LearnsWhatOneRankLearnsWithAnyNumberOfMicroBatches) {
  TrainingSettings settings = ten_steps(StrategyKind::pipeline);
  for (const int ranks : {1, 2})
    for (const std::size_t micro_batches : {1, 3, 4, 100}) {  // some of 100 have no samples
      settings.strategy.micro_batches = micro_batches;
      EXPECT_LT(worst_difference<double>(end_of(ranks, settings), one_rank()), exact)
          << micro_batches << " on " << ranks;
    }
}

TEST(Pipeline, LearnsTheSameFromABatchInPieces) {
  TrainingSettings settings = ten_steps(StrategyKind::pipeline);
  settings.pieces = 3;
  EXPECT_LT(worst_difference<double>(end_of(2, settings), one_rank()), exact);
}

TEST(Pipeline, LearnsTheSameOverSlowWires) {
  TrainingSettings settings = ten_steps(StrategyKind::pipeline);
  const Checkpoint fast = end_of(2, settings);
  settings.wire = 5e6;
  EXPECT_TRUE(same_bits(end_of(2, settings), fast));
}

TEST(Pipeline, GoesOnWhereAnotherStrategyStopped) {
  TrainingSettings before = ten_steps(StrategyKind::pipeline);
  before.steps = 5;
  TrainingSettings after = ten_steps(StrategyKind::distributed);
  after.steps = 5;
  after.resume = std::make_shared<Checkpoint>(end_of(2, before));
  EXPECT_LT(worst_difference<double>(end_of(3, after), one_rank()), exact);
  std::swap(before.strategy, after.strategy);
  after.resume = std::make_shared<Checkpoint>(end_of(3, before));
  EXPECT_LT(worst_difference<double>(end_of(2, after), one_rank()), exact);
}

TEST(Pipeline, SendsActivationsAndTheirGradients) {
  TrainingSettings settings = small_settings(StrategyKind::pipeline);
  settings.steps = 2;
  settings.count_traffic = true;
  const auto ranks = train_on(2, engine(), settings).reports.front().ranks;
  const std::uint64_t activations = 2 * 64 * 16 * 4;  // steps, samples, hidden units, bytes
  EXPECT_EQ(ranks[0].traffic, (trainer::Traffic{activations, activations}));
  EXPECT_EQ(ranks[1].traffic, (trainer::Traffic{activations, activations}));
}

TEST(Pipeline, EndsOnAllRanksWhereOneDies) {
  class Dying : public trainer::Observer {
    void before_step(int rank, const trainer::Position& position) override {
      if (rank == 1 && position.step == 2) throw Error(ErrorCode::device, "it fell off the bus");
    }
  } dying;
  World world = World::threads(2);
  try {
    (void)trainer::train(world, engine(), small_data(), small_settings(StrategyKind::pipeline),
                         dying);
    FAIL() << "nobody told";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("fell off the bus"), std::string::npos);
  }
}

std::string refusal_of(StrategyKind kind, Model model, int ranks) {
  try {
    trainer::check_split(kind, {.model = model}, ranks);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
}

TEST(CheckSplit, RefusesMoreRanksThanThereAreParts) {
  EXPECT_EQ(refusal_of(StrategyKind::pipeline, Model::lenet, 4), "");
  EXPECT_EQ(refusal_of(StrategyKind::pipeline, Model::lenet, 5),
            "the strategy pipeline: lenet has 4 layers, at least one for each of 5 ranks is "
            "needed");
  EXPECT_EQ(refusal_of(StrategyKind::tensor, Model::lenet, 10), "");
  EXPECT_EQ(refusal_of(StrategyKind::tensor, Model::lenet, 11),
            "the strategy tensor: lenet has a layer of 10 outputs, at least one for each of 11 "
            "ranks is needed");
}

TEST(CheckSplit, RefusesModelsThatAreNotSplit) {
  EXPECT_NE(refusal_of(StrategyKind::pipeline, Model::resnet18, 2).find("batch norms"),
            std::string::npos);
  EXPECT_NE(refusal_of(StrategyKind::tensor, Model::mlp, 2).find("inputs first"),
            std::string::npos);
  EXPECT_EQ(refusal_of(StrategyKind::distributed, Model::resnet18, 2), "");
}

TEST(CheckSplit, IsAskedBeforeTrainingBegins) {
  World world = World::threads(3);
  EXPECT_THROW(trainer::check(small_settings(StrategyKind::pipeline), small_data(), world), Error);
}

}  // namespace
}  // namespace ringside::tests
