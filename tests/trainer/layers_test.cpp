// SPDX-License-Identifier: MIT
/// Layers of models that are split: their tensors, their sizes, and how they are cut.
#include "ringside/trainer/layers.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace ringside::tests {
namespace {

using trainer::Layer;
using trainer::Model;

TEST(Layers, HaveTheTensorsOfTheirModel) {
  for (const Model model : {Model::mlp, Model::lenet}) {
    const auto parameters = trainer::tensors_of({.model = model}).parameters;
    const auto layers = trainer::layers_of({.model = model});
    ASSERT_EQ(2 * layers.size(), parameters.size());
    for (const Layer& layer : layers) {
      EXPECT_TRUE(parameters[layer.weight].name.ends_with(".weight"));
      EXPECT_TRUE(parameters[layer.bias].name.ends_with(".bias"));
      EXPECT_EQ(parameters.extent(layer.bias).length, layer.channels);
      EXPECT_EQ(parameters.extent(layer.weight).length % layer.channels, 0U);
    }
  }
}

TEST(Layers, OfLenetHaveTheTextbooksSizes) {
  const auto layers = trainer::layers_of({.model = Model::lenet});
  ASSERT_EQ(layers.size(), 4U);
  EXPECT_EQ(layers[0].elements(), 20U * 13 * 13);
  EXPECT_EQ(layers[1].elements(), 800U);
  EXPECT_EQ(layers[2].elements(), 128U);
  EXPECT_EQ(layers[3].elements(), 10U);
  EXPECT_EQ(layers[0].products, 9U * 20 * 26 * 26);
  EXPECT_EQ(layers[1].products, 500U * 50 * 9 * 9);
  EXPECT_EQ(layers[2].products, 102'400U);
}

TEST(Layers, ThereAreNoneWhereBatchNormsSeeTheSamples) {
  EXPECT_TRUE(trainer::layers_of({.model = Model::resnet18}).empty());
}

TEST(ChannelsIn, OfAllRanksAreTheTensor) {
  const auto parameters = trainer::tensors_of({.model = Model::lenet}).parameters;
  for (const Layer& layer : trainer::layers_of({.model = Model::lenet}))
    for (const std::size_t tensor : {layer.weight, layer.bias}) {
      std::size_t end = parameters.extent(tensor).offset;
      for (std::size_t rank = 0; rank < 3; ++rank) {
        const Extent own =
            trainer::channels_in(parameters, tensor, part_of(layer.channels, 3, rank));
        EXPECT_EQ(own.offset, end);
        end += own.length;
      }
      EXPECT_EQ(end - parameters.extent(tensor).offset, parameters.extent(tensor).length);
    }
}

std::vector<std::size_t> stage_lengths(const std::vector<std::uint64_t>& products,
                                       std::size_t stages) {
  std::vector<Layer> layers(products.size());
  for (std::size_t i = 0; i < layers.size(); ++i) layers[i].products = products[i];
  std::vector<std::size_t> lengths;
  std::size_t next = 0;
  for (const Extent& stage : trainer::stages_of(layers, stages)) {
    EXPECT_EQ(stage.offset, next);
    next += stage.length;
    lengths.push_back(stage.length);
  }
  EXPECT_EQ(next, layers.size());
  return lengths;
}

using Lengths = std::vector<std::size_t>;

TEST(StagesOf, AreAsEvenAsCanBe) {
  EXPECT_EQ(stage_lengths({5, 1, 1, 1, 6}, 1), (Lengths{5}));
  EXPECT_EQ(stage_lengths({5, 1, 1, 1, 6}, 2), (Lengths{3, 2}));
  EXPECT_EQ(stage_lengths({5, 1, 1, 1, 6}, 3), (Lengths{2, 2, 1}));
  EXPECT_EQ(stage_lengths({1, 1, 9}, 2), (Lengths{2, 1}));
  EXPECT_EQ(stage_lengths({9, 1, 1}, 2), (Lengths{1, 2}));
}

TEST(StagesOf, AreNeverEmpty) {
  EXPECT_EQ(stage_lengths({0, 0, 0, 0}, 4), (Lengths{1, 1, 1, 1}));
  EXPECT_EQ(stage_lengths({100, 0, 0}, 3), (Lengths{1, 1, 1}));
  EXPECT_EQ(stage_lengths({0, 0, 100}, 2), (Lengths{2, 1}));
}

TEST(StagesOf, OfLenetBeginAtItsSecondConvolution) {
  const auto layers = trainer::layers_of({.model = Model::lenet});
  EXPECT_EQ(trainer::stages_of(layers, 2), (std::vector<Extent>{{0, 1}, {1, 3}}));
  EXPECT_EQ(trainer::stages_of(layers, 3), (std::vector<Extent>{{0, 1}, {1, 1}, {2, 2}}));
}

}  // namespace
}  // namespace ringside::tests
