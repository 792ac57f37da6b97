// SPDX-License-Identifier: MIT
/// A model as layers that can lie on different ranks, whole or in slices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ringside/collectives/layout.hpp"
#include "ringside/trainer/models.hpp"

namespace ringside::trainer {

/// A weight, a bias, and what follows them without parameters (ReLU, pooling).
struct Layer {
  std::size_t weight = 0, bias = 0;  ///< its tensors, in tensors_of(settings).parameters
  std::size_t channels = 0;          ///< of its output: of a convolution, neurons of a dense layer
  std::size_t side = 1;              ///< of a channel's image, behind pooling; 1: dense
  std::uint64_t products = 0;        ///< multiplications of its forward pass, for a sample

  /// Of a channel, for a sample.
  [[nodiscard]] std::size_t channel_elements() const { return side * side; }
  /// Of its output, for a sample.
  [[nodiscard]] std::size_t elements() const { return channels * channel_elements(); }
};

/// A model's layers, each of which needs nothing but the output of the one before. None for
/// resnet18, which is not cut: its batch norms would see other samples in every micro-batch.
[[nodiscard]] std::vector<Layer> layers_of(const ModelSettings& settings);

/// Where a run of channels lies in the flat parameters: a tensor's first dimension is that of the
/// channels. (Not of mlp's weights, which are stored inputs first.)
[[nodiscard]] Extent channels_in(const TensorLayout& layout, std::size_t tensor,
                                 const Extent& channels);

/// Cuts layers in `stages` runs, none empty, of which the one with the most multiplications has as
/// few as can be. Requires 1 <= stages <= layers.
[[nodiscard]] std::vector<Extent> stages_of(std::span<const Layer> layers, std::size_t stages);

}  // namespace ringside::trainer
