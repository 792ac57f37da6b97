// SPDX-License-Identifier: MIT
/// How the models compute, in libtorch's operations. For the two sources of this folder only: they
/// alone include libtorch's headers, which cost 10 s and 1 GB of memory a file.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "ringside/trainer/engine.hpp"

namespace ringside::trainer::torch_engine {

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

}  // namespace ringside::trainer::torch_engine
