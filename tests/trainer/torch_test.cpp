// SPDX-License-Identifier: MIT
/// The engine on libtorch: LeNet and ResNet-18.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "ringside/base/options.hpp"
#include "ringside/tests/trainer/learning.hpp"

namespace ringside::tests {
namespace {

using trainer::Checkpoint;
using trainer::Memory;
using trainer::Model;
using trainer::Replica;
using trainer::StrategyKind;
using trainer::TrainingSettings;

trainer::Engine& engine() {
  static const auto torch = [] {
    const ScopedOption path("torch_engine", RINGSIDE_TORCH_ENGINE);
    return trainer::engine_for(Model::lenet);
  }();
  return *torch;
}

/// Loss of the first samples; adds gradients, and tells which are ready, if asked to.
double loss_of(Replica& replica, std::size_t samples, std::vector<std::size_t>* ready = nullptr) {
  const auto& data = small_data().training;
  const trainer::BatchView view(std::span(data.pixels).first(samples * trainer::image_pixels),
                                std::span(data.labels).first(samples));
  const Memory outputs = replica.forward(view, Replica::Mode::training);
  const Memory derivative = replica.allocate(outputs.elements, outputs.type);
  const double loss = replica.loss(outputs, view.labels, derivative).sum;
  if (ready != nullptr)
    replica.backward(derivative, [ready](std::size_t tensor) { ready->push_back(tensor); });
  return loss;
}

class TorchModel : public ::testing::TestWithParam<Model> {
 protected:
  static std::unique_ptr<Replica> replica(ElementType precision = ElementType::float64) {
    return engine().make_replica({.model = GetParam(),
                                  .width = GetParam() == Model::resnet18 ? 2 : 0,
                                  .precision = precision,
                                  .seed = 2},
                                 1);
  }
};

TEST_P(TorchModel, GradientsAreTheSlopesOfTheLoss) {
  const auto one = replica();
  // Larger weights than those at the beginning, whose gradients are near zero.
  for (double& p : one->parameters().as<double>()) p *= 20;
  std::vector<std::size_t> ready;
  one->clear_gradients();
  (void)loss_of(*one, 6, &ready);
  const auto parameters = one->parameters().as<double>();
  const auto gradients = one->gradients().as<double>();
  const auto& layout = one->tensors().parameters;
  for (std::size_t tensor = 0; tensor < layout.size(); ++tensor) {
    const std::size_t i = layout.extent(tensor).offset + layout.extent(tensor).length / 2;
    constexpr double step = 1e-6;
    const double here = parameters[i];
    parameters[i] = here + step;
    const double above = loss_of(*one, 6);
    parameters[i] = here - step;
    const double below = loss_of(*one, 6);
    parameters[i] = here;
    const double slope = (above - below) / (2 * step);
    EXPECT_NEAR(gradients[i], slope, 1e-4 * std::max(1.0, std::abs(slope))) << layout[tensor].name;
  }
}

TEST_P(TorchModel, TellsEveryGradientOnceInEveryBackwardPass) {
  const auto one = replica(ElementType::float32);
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<std::size_t> ready;
    (void)loss_of(*one, 4, &ready);
    std::sort(ready.begin(), ready.end());
    std::vector<std::size_t> all(one->tensors().parameters.size());
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(ready, all);
  }
}

TEST_P(TorchModel, TellsALayersWeightRightBehindItsBias) {
  std::vector<std::size_t> ready;
  (void)loss_of(*replica(), 4, &ready);
  for (std::size_t i = 0; i < ready.size(); i += 2) EXPECT_EQ(ready[i], ready[i + 1] + 1);
}

TEST_P(TorchModel, LeavesNoGradientsBetweenItsTensors) {
  const auto one = replica(ElementType::float32);
  std::vector<std::size_t> ready;
  (void)loss_of(*one, 4, &ready);
  auto gradients = one->gradients().as<float>();
  const auto& layout = one->tensors().parameters;
  for (std::size_t tensor = 0; tensor < layout.size(); ++tensor) {
    const auto extent = layout.extent(tensor);
    std::fill_n(gradients.begin() + static_cast<std::ptrdiff_t>(extent.offset), extent.length, 0);
  }
  EXPECT_TRUE(std::all_of(gradients.begin(), gradients.end(), [](float g) { return g == 0; }));
}

TEST_P(TorchModel, CountsItsActivations) {
  const auto one = replica(ElementType::float32);
  std::vector<std::size_t> ready;
  (void)loss_of(*one, 4, &ready);
  const auto few = one->peak_bytes();
  (void)loss_of(*one, 200, &ready);
  EXPECT_GT(one->peak_bytes(), few + 196 * 784 * 4);
}

TEST_P(TorchModel, HandsOverTheGradientsThatItWouldKeep) {
  const auto keeping = replica(), handing_over = replica();
  handing_over->hand_over_gradients();
  const auto& data = small_data().training;
  const trainer::BatchView view(std::span(data.pixels).first(6 * trainer::image_pixels),
                                std::span(data.labels).first(6));
  const auto backward = [&](Replica& one, const trainer::GradientReady& ready) {
    const Memory outputs = one.forward(view, Replica::Mode::training);
    const Memory derivative = one.allocate(outputs.elements, outputs.type);
    (void)one.loss(outputs, view.labels, derivative);
    one.backward(derivative, ready);
  };
  backward(*keeping, {});
  for (int pass = 0; pass < 2; ++pass) {
    std::size_t told = 0;
    backward(*handing_over, [&](std::size_t tensor) {
      const auto own = handing_over->gradient(tensor).as<double>();
      const auto kept = keeping->gradient(tensor).as<double>();
      EXPECT_TRUE(std::equal(own.begin(), own.end(), kept.begin(), kept.end())) << tensor;
      ++told;
    });
    EXPECT_EQ(told, handing_over->tensors().parameters.size());
  }
  EXPECT_EQ(handing_over->gradients().elements, 0U);
}

INSTANTIATE_TEST_SUITE_P(Models, TorchModel, ::testing::Values(Model::lenet, Model::resnet18),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TrainingSettings lenet_settings(StrategyKind kind, ElementType precision) {
  TrainingSettings settings = small_settings(kind, precision);
  settings.model = {.model = Model::lenet, .precision = precision, .seed = 3};
  settings.batch = 32;
  settings.steps = 10;
  settings.rate = 0.2;
  settings.evaluate = false;
  return settings;
}

TEST(Lenet, RanksTogetherLearnWhatOneLearns) {
  const auto of = [](StrategyKind kind) { return lenet_settings(kind, ElementType::float64); };
  const Checkpoint one = train_on(1, engine(), of(StrategyKind::single)).end;
  for (const StrategyKind kind :
       {StrategyKind::data_parallel, StrategyKind::from_scratch, StrategyKind::distributed,
        StrategyKind::sharded, StrategyKind::pipeline, StrategyKind::tensor})
    for (const int ranks : {2, 3, 4})
      EXPECT_LT(worst_difference<double>(train_on(ranks, engine(), of(kind)).end, one), 1e-12)
          << to_string(kind) << " on " << ranks;
}

TEST(Lenet, IsSplitAsWellWithMomentumAndABatchInPieces) {
  const auto of = [](StrategyKind kind) {
    TrainingSettings settings = lenet_settings(kind, ElementType::float64);
    settings.momentum = 0.9;
    settings.decay = 0.01;
    settings.pieces = 3;
    return settings;
  };
  const Checkpoint one = train_on(1, engine(), of(StrategyKind::single)).end;
  for (const StrategyKind kind : {StrategyKind::pipeline, StrategyKind::tensor})
    EXPECT_LT(worst_difference<double>(train_on(3, engine(), of(kind)).end, one), 1e-12)
        << to_string(kind);
}

TEST(Lenet, IsSplitOverAsManyRanksAsItsLastLayerHasOutputs) {
  TrainingSettings settings = lenet_settings(StrategyKind::single, ElementType::float64);
  settings.batch = 8;
  settings.steps = 2;
  const Checkpoint one = train_on(1, engine(), settings).end;
  settings.strategy.kind = StrategyKind::tensor;
  EXPECT_LT(worst_difference<double>(train_on(10, engine(), settings).end, one), 1e-12);
}

/// What all ranks together send in a step, counted.
std::uint64_t sent(StrategyKind kind, int ranks, std::size_t batch) {
  TrainingSettings settings = lenet_settings(kind, ElementType::float32);
  settings.batch = batch;
  settings.steps = 1;
  settings.count_traffic = true;
  if (kind == StrategyKind::distributed) settings.strategy.algorithm = "ring";
  std::uint64_t sum = 0, received = 0;
  const auto reports = train_on(ranks, engine(), settings).reports;
  for (const auto& rank : reports.front().ranks) {
    sum += rank.traffic.sent;
    received += rank.traffic.received;
  }
  EXPECT_EQ(sum, received);
  return sum;
}

TEST(Lenet, MovesTheBytesOfTheFormulas) {
  constexpr std::uint64_t conv1 = 20 * 13 * 13, conv2 = 50 * 4 * 4, fc1 = 128, fc2 = 10;
  for (const std::uint64_t batch : {16, 160}) {
    const std::uint64_t sample_bytes = 4 * batch;
    // There and back across each cut.
    EXPECT_EQ(sent(StrategyKind::pipeline, 2, batch), 2 * conv1 * sample_bytes);
    EXPECT_EQ(sent(StrategyKind::pipeline, 4, batch), 2 * (conv1 + conv2 + fc1) * sample_bytes);
    for (const int ranks : {2, 4}) {
      const auto others = static_cast<std::uint64_t>(ranks - 1);
      // All but the own slice of every layer's outputs; the same of the gradients, but the last's.
      EXPECT_EQ(sent(StrategyKind::tensor, ranks, batch),
                others * (2 * (conv1 + conv2 + fc1) + fc2) * sample_bytes);
      // Twice all gradients, whatever the batch (and what lies between tensors in a bucket).
      const std::uint64_t gradients = sent(StrategyKind::distributed, ranks, batch);
      EXPECT_GE(gradients, 2 * others * 4 * 129'068);
      EXPECT_LE(gradients, 2 * others * 4 * (129'068 + 8 * 16));
    }
  }
  EXPECT_LT(sent(StrategyKind::tensor, 2, 16), sent(StrategyKind::distributed, 2, 16));
  EXPECT_GT(sent(StrategyKind::tensor, 2, 160), sent(StrategyKind::distributed, 2, 160));
}

TEST(Lenet, InFloat32HasTheGradientsOfOneRankAtTheFirstStep) {
  // The first step's update, from weights that are the same for all.
  const auto first_update = [](int ranks, StrategyKind kind) {
    TrainingSettings settings = lenet_settings(kind, ElementType::float32);
    settings.steps = 1;
    settings.momentum = 0.5;
    Checkpoint end = train_on(ranks, engine(), settings).end;
    std::erase_if(end.tensors,
                  [](const auto& tensor) { return !tensor.name.starts_with("velocity/"); });
    return end;
  };
  const Checkpoint one = first_update(1, StrategyKind::single);
  for (const StrategyKind kind :
       {StrategyKind::data_parallel, StrategyKind::from_scratch, StrategyKind::distributed,
        StrategyKind::pipeline, StrategyKind::tensor})
    for (const int ranks : {2, 4})
      EXPECT_LT(worst_difference<float>(first_update(ranks, kind), one), 1e-4)
          << to_string(kind) << " on " << ranks;
}

TEST(Lenet, GivesTheSameBitsOverlappedOrNot) {
  TrainingSettings settings = lenet_settings(StrategyKind::distributed, ElementType::float32);
  const Checkpoint overlapped = train_on(3, engine(), settings).end;
  settings.strategy.overlap = false;
  EXPECT_TRUE(same_bits(overlapped, train_on(3, engine(), settings).end));
}

TEST(Resnet18, WithLocalBatchNormLearnsSomethingElseOnTwoRanks) {
  TrainingSettings settings = lenet_settings(StrategyKind::single, ElementType::float64);
  settings.model = {.model = Model::resnet18, .width = 4, .precision = ElementType::float64};
  settings.steps = 1;
  const Checkpoint one = train_on(1, engine(), settings).end;
  settings.strategy.kind = StrategyKind::distributed;
  EXPECT_GT(worst_difference<double>(train_on(2, engine(), settings).end, one), 1e-3);
}

/// A narrow one in float64.
TrainingSettings narrow_resnet() {
  TrainingSettings settings = lenet_settings(StrategyKind::single, ElementType::float64);
  settings.model = {
      .model = Model::resnet18, .width = 4, .precision = ElementType::float64, .seed = 3};
  settings.epochs = 10;
  settings.batch = 30;  // 203 samples: six steps and one of 23
  return settings;
}

/// Ten steps, the last of an epoch ragged, from where one rank was after ten others: the first
/// weights are so small beside a step, as batch norms take their size away, that rounding grows
/// tenfold with each step, on one rank, too.
TrainingSettings resnet_settings(StrategyKind kind) {
  static const auto begun =
      std::make_shared<Checkpoint>(train_on(1, engine(), narrow_resnet()).end);
  TrainingSettings settings = narrow_resnet();
  settings.resume = begun;
  settings.rate = 0.01;
  settings.momentum = 0.5;
  settings.strategy.kind = kind;
  settings.synchronised_batch_norm = kind != StrategyKind::single;
  return settings;
}

const Checkpoint& one_resnet() {
  static const Checkpoint end = train_on(1, engine(), resnet_settings(StrategyKind::single)).end;
  return end;
}

/// Of all tensors but biases that a batch norm follows: their gradient is zero, rounding apart.
double worst_difference_of_resnets(Checkpoint a, Checkpoint b) {
  for (Checkpoint* end : {&a, &b})
    std::erase_if(end->tensors, [](const trainer::SavedTensor& tensor) {
      return tensor.name.find("conv") != std::string::npos && tensor.name.ends_with(".bias");
    });
  return worst_difference<double>(a, b);
}

class SynchronisedBatchNorm : public ::testing::TestWithParam<StrategyKind> {};

TEST_P(SynchronisedBatchNorm, MakesRanksLearnWhatOneDoes) {
  for (const int ranks : {2, 3, 4})
    EXPECT_LT(worst_difference_of_resnets(
                  train_on(ranks, engine(), resnet_settings(GetParam())).end, one_resnet()),
              1e-12)
        << ranks;
}

TEST_P(SynchronisedBatchNorm, HoldsForUnequalSharesAndRanksWithoutSamples) {
  TrainingSettings settings = resnet_settings(GetParam());
  settings.strategy.shares = {40, 1, 7};  // of the 23 samples one rank has none
  EXPECT_LT(worst_difference_of_resnets(train_on(3, engine(), settings).end, one_resnet()), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Strategies, SynchronisedBatchNorm,
                         ::testing::Values(StrategyKind::data_parallel, StrategyKind::from_scratch,
                                           StrategyKind::distributed, StrategyKind::sharded));

TEST(Resnet18, ShardedHoldsAPartOfGradientsAndMomentum) {
  TrainingSettings settings = lenet_settings(StrategyKind::sharded, ElementType::float32);
  settings.model = {.model = Model::resnet18, .width = 8};
  settings.momentum = 0.9;
  settings.steps = 2;
  for (const int ranks : {2, 4}) {
    const auto reports = train_on(ranks, engine(), settings).reports;
    for (const auto& rank : reports.back().ranks) {
      const auto& memory = rank.memory;
      // What distributed has of each of the two.
      const auto whole = static_cast<double>(memory.parameters);
      EXPECT_LE(static_cast<double>(memory.gradients + memory.optimizer + memory.staging),
                (1.0 / ranks + 0.1) * 2 * whole)
          << ranks;
      EXPECT_GE(static_cast<double>(memory.optimizer), 0.99 * whole / ranks);
    }
  }
}

TEST(Resnet18, WithLocalBatchNormIsAnotherTraining) {
  TrainingSettings settings = resnet_settings(StrategyKind::distributed);
  settings.synchronised_batch_norm = false;
  EXPECT_GT(worst_difference_of_resnets(train_on(2, engine(), settings).end, one_resnet()), 1e-3);
}

TEST(Resnet18, IsNotResumedWithOtherBatchNormsWithoutAWord) {
  TrainingSettings settings = resnet_settings(StrategyKind::distributed);
  settings.steps = 1;
  settings.resume = std::make_shared<Checkpoint>(train_on(2, engine(), settings).end);
  EXPECT_TRUE(changes_since_checkpoint(settings, small_data()).empty());
  settings.synchronised_batch_norm = false;
  EXPECT_EQ(changes_since_checkpoint(settings, small_data()),
            std::vector<std::string>{"batch norms local, not synchronised"});
}

TEST(Resnet18, WithSynchronisedBatchNormHasTheSameBitsOverlappedOrNot) {
  TrainingSettings settings = resnet_settings(StrategyKind::distributed);
  settings.resume = nullptr;
  settings.model.precision = ElementType::float32;
  settings.steps = 3;
  const Checkpoint overlapped = train_on(3, engine(), settings).end;
  settings.strategy.overlap = false;
  EXPECT_TRUE(same_bits(overlapped, train_on(3, engine(), settings).end));
}

TEST(Resnet18, IsResumedExactly) {
  TrainingSettings settings = lenet_settings(StrategyKind::distributed, ElementType::float32);
  settings.model = {.model = Model::resnet18, .width = 2, .seed = 3};
  settings.steps = 4;
  const Checkpoint whole = train_on(2, engine(), settings).end;
  settings.steps = 2;
  settings.resume = std::make_shared<Checkpoint>(train_on(2, engine(), settings).end);
  EXPECT_TRUE(same_bits(train_on(2, engine(), settings).end, whole));
}

TEST(TorchEngine, SaysWhatItIs) {
  EXPECT_TRUE(engine().facts().name.starts_with("libtorch "));
  EXPECT_FALSE(engine().facts().settings.empty());
}

}  // namespace
}  // namespace ringside::tests
