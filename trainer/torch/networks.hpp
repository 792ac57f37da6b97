// SPDX-License-Identifier: MIT
/// How the models compute, in libtorch's operations. For the sources of this folder only: they
/// alone include libtorch's headers, which cost 10 s and 1 GB of memory a file.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <vector>

#include "ringside/trainer/engine.hpp"

namespace ringside::trainer::torch_engine {

[[nodiscard]] at::ScalarType scalar_type(ElementType type);

/// Pixels as numbers from 0 to 1, {samples, 1, 28, 28}.
[[nodiscard]] at::Tensor images_of(const BatchView& batch, at::ScalarType type);

/// The ranks whose samples batch norms see together.
struct RanksTogether {
  int count = 1;
  GatherFromRanks gather;  ///< none: a rank's own samples only
};

/// The outputs for images, {samples, 1, 28, 28}. Parameters and statistics are those of
/// `tensors_of(settings)` in their order. Training normalises by the batch and updates statistics;
/// `ranks` must then outlive the backward pass.
[[nodiscard]] at::Tensor outputs_of(const ModelSettings& settings,
                                    const std::vector<at::Tensor>& parameters,
                                    const std::vector<at::Tensor>& statistics,
                                    const at::Tensor& images, bool training,
                                    const RanksTogether& ranks);

/// What layer 0 to 3 of lenet makes of its input, {samples, channels, side, side} or, behind a
/// dense layer, {samples, channels} with or without sides of 1. Weight and bias may be a slice:
/// some of the output channels.
[[nodiscard]] at::Tensor lenet_layer(std::size_t layer, const at::Tensor& x,
                                     const at::Tensor& weight, const at::Tensor& bias);

}  // namespace ringside::trainer::torch_engine
