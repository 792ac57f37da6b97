// SPDX-License-Identifier: MIT
/// Models' tensors against the textbook's numbers, and the engine that is always there: gradients
/// against differences of the loss.
#include "ringside/trainer/engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ringside/base/options.hpp"
#include "ringside/tests/trainer/learning.hpp"

namespace ringside::tests {
namespace {

using trainer::Memory;
using trainer::Model;
using trainer::ModelSettings;
using trainer::Replica;

TEST(Models, HaveTheTextbooksNumbersOfParameters) {
  EXPECT_EQ(trainer::tensors_of({.model = Model::lenet}).parameters.numbers(), 129'068U);
  EXPECT_EQ(trainer::tensors_of({.model = Model::lenet}).parameters.size(), 8U);
  EXPECT_EQ(trainer::tensors_of({.model = Model::resnet18}).parameters.numbers(), 11'175'818U);
  EXPECT_EQ(trainer::tensors_of({.model = Model::resnet18}).parameters.size(), 76U);
  EXPECT_EQ(trainer::tensors_of({.model = Model::mlp}).parameters.numbers(),
            784U * 256 + 256 + 256 * 10 + 10);
}

TEST(Models, RefuseWhatTheyHaveNot) {
  EXPECT_THROW((void)trainer::tensors_of({.model = Model::lenet, .width = 8}), Error);
  EXPECT_THROW((void)trainer::tensors_of({.model = Model::mlp, .width = -1}), Error);
  EXPECT_THROW((void)trainer::tensors_of({.precision = ElementType::int8}), Error);
}

TEST(TensorLayout, AlignsEveryTensor) {
  const auto layout = trainer::tensors_of({.model = Model::lenet}).parameters;
  std::size_t end = 0;
  for (std::size_t tensor = 0; tensor < layout.size(); ++tensor) {
    EXPECT_EQ(layout.extent(tensor).offset % 16, 0U);
    EXPECT_GE(layout.extent(tensor).offset, end);
    end = layout.extent(tensor).offset + layout.extent(tensor).length;
  }
  EXPECT_LE(end, layout.elements());
}

std::unique_ptr<Replica> small_mlp(ElementType precision = ElementType::float64) {
  return trainer::engine_for(Model::mlp)
      ->make_replica({.model = Model::mlp, .width = 7, .precision = precision, .seed = 4}, 1);
}

/// Loss of the first samples; adds gradients and counts what is told ready if asked to.
double loss_of(Replica& replica, std::size_t samples, std::vector<std::size_t>* ready = nullptr) {
  const auto& data = small_data().training;
  const trainer::BatchView view(std::span(data.pixels).first(samples * trainer::image_pixels),
                                std::span(data.labels).first(samples));
  const Memory outputs = replica.forward(view, Replica::Mode::training);
  std::vector<double> gradient(outputs.elements);
  const Memory derivative{gradient.data(), gradient.size(), ElementType::float64};
  const double loss = replica.loss(outputs, view.labels, derivative).sum;
  if (ready != nullptr)
    replica.backward(derivative, [ready](std::size_t tensor) { ready->push_back(tensor); });
  return loss;
}

TEST(Mlp, GradientsAreTheSlopesOfTheLoss) {
  const auto replica = small_mlp();
  std::vector<std::size_t> ready;
  replica->clear_gradients();
  (void)loss_of(*replica, 5, &ready);
  const auto parameters = replica->parameters().as<double>();
  const auto gradients = replica->gradients().as<double>();
  const auto& layout = replica->tensors().parameters;
  for (std::size_t tensor = 0; tensor < layout.size(); ++tensor)
    for (const std::size_t inside : {std::size_t{0}, layout.extent(tensor).length / 2}) {
      const std::size_t i = layout.extent(tensor).offset + inside;
      constexpr double step = 1e-6;
      const double here = parameters[i];
      parameters[i] = here + step;
      const double above = loss_of(*replica, 5);
      parameters[i] = here - step;
      const double below = loss_of(*replica, 5);
      parameters[i] = here;
      EXPECT_NEAR(gradients[i], (above - below) / (2 * step), 1e-6) << layout[tensor].name;
    }
}

TEST(Mlp, TellsEveryGradientOnce) {
  const auto replica = small_mlp();
  std::vector<std::size_t> ready;
  (void)loss_of(*replica, 3, &ready);
  std::sort(ready.begin(), ready.end());
  EXPECT_EQ(ready, (std::vector<std::size_t>{0, 1, 2, 3}));
}

TEST(Mlp, AddsGradientsUntilTheyAreCleared) {
  const auto replica = small_mlp();
  std::vector<std::size_t> ready;
  (void)loss_of(*replica, 3, &ready);
  const auto gradients = replica->gradients().as<double>();
  const std::vector<double> once(gradients.begin(), gradients.end());
  (void)loss_of(*replica, 3, &ready);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(gradients[i], 2 * once[i], 1e-12);
  replica->clear_gradients();
  EXPECT_TRUE(std::all_of(gradients.begin(), gradients.end(), [](double g) { return g == 0; }));
}

TEST(HostReplica, BeginsWithTheSameWeightsForASeed) {
  const auto numbers = [](const ModelSettings& settings) {
    const auto replica = trainer::engine_for(Model::mlp)->make_replica(settings, 1);
    const auto p = replica->parameters().as<float>();
    return std::vector<float>(p.begin(), p.end());
  };
  const ModelSettings settings{.model = Model::mlp, .width = 9, .seed = 4};
  EXPECT_EQ(numbers(settings), numbers(settings));
  EXPECT_NE(numbers(settings), numbers({.model = Model::mlp, .width = 9, .seed = 5}));
}

TEST(HostReplica, KnowsTheLossOfEqualOutputs) {
  const auto replica = small_mlp();
  std::vector<double> outputs(20, 3.5), gradient(20);
  const std::vector<std::uint8_t> labels = {0, 9};
  const auto loss = replica->loss({outputs.data(), 20, ElementType::float64}, labels,
                                  {gradient.data(), 20, ElementType::float64});
  EXPECT_NEAR(loss.sum, 2 * std::log(10.0), 1e-12);
  EXPECT_EQ(loss.correct, 1) << "the first of equals is taken";
  EXPECT_NEAR(gradient[0], 0.1 - 1, 1e-12);
  EXPECT_NEAR(gradient[1], 0.1, 1e-12);
}

TEST(HostReplica, LossOfHugeOutputsIsFinite) {
  const auto replica = small_mlp();
  std::vector<double> outputs(10, -1e6);
  outputs[3] = 1e6;
  const std::vector<std::uint8_t> label = {3};
  const Memory none{nullptr, 0, ElementType::float64};
  EXPECT_EQ(replica->loss({outputs.data(), 10, ElementType::float64}, label, none).sum, 0);
}

TEST(HostReplica, NarrowsToNearestEven) {
  const auto replica = small_mlp(ElementType::float32);
  std::vector<float> wide = {1.0F, 1.0F + 1.0F / 256, 1.0F + 3.0F / 256, -2.5F};
  const Memory narrow = replica->allocate(4, ElementType::bfloat16);
  const Memory from{wide.data(), 4, ElementType::float32};
  replica->narrow(from, narrow);
  replica->widen(narrow, from);
  EXPECT_EQ(wide, (std::vector<float>{1.0F, 1.0F, 1.0F + 4.0F / 256, -2.5F}));
}

TEST(HostReplica, Transposes) {
  const auto replica = small_mlp();
  std::vector<double> matrix = {1, 2, 3, 4, 5, 6}, transposed(6);
  replica->transpose({matrix.data(), 6, ElementType::float64}, 2,
                     {transposed.data(), 6, ElementType::float64});
  EXPECT_EQ(transposed, (std::vector<double>{1, 4, 2, 5, 3, 6}));
}

TEST(Engine, SaysWhatIsMissingWithoutLibtorch) {
  const ScopedOption nowhere("torch_engine", "no/such/engine.so");
  try {
    (void)trainer::engine_for(Model::lenet);
    FAIL() << "loaded nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("no/such/engine.so"), std::string::npos);
  }
}

TEST(Engine, OfMlpComputesNothingElse) {
  EXPECT_THROW((void)trainer::engine_for(Model::mlp)->make_replica({.model = Model::lenet}, 1),
               Error);
}

}  // namespace
}  // namespace ringside::tests
