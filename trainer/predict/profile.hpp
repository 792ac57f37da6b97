// SPDX-License-Identifier: MIT
/// What a prediction has to know of a model: how large its gradients are, and when within a
/// backward pass each is ready.
///
/// When they are ready is computed, so that it is the same everywhere: what each layer's backward
/// pass takes on a GPU of round figures (`ReferenceDevice`), by its arithmetic, the memory that it
/// moves and the kernels that it launches. Only ratios of these count.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ringside/trainer/memory.hpp"
#include "ringside/trainer/models.hpp"

namespace ringside::trainer {

struct ModelProfile {
  std::string name;        ///< "lenet", "7,000,000,000 parameters"
  TensorLayout gradients;  ///< in the order in which a forward pass uses them
  /// When each is ready: 0 to 1, the fraction of the backward pass that is over by then.
  std::vector<double> ready;
  std::size_t sample_bytes = 0;    ///< what a sample takes as it is loaded; 0: not known
  std::size_t sample_outputs = 0;  ///< numbers that the model says of it; 0: not known
  std::string how;                 ///< where `ready` is from, a line for people
};

/// A GPU in round figures: a V100 has 15.7 TFLOP/s in float32 and 900 GB/s (NVIDIA's data sheet),
/// and a launch takes 4 to 6 us (specifications of CUDA applications differ little in that). Newer
/// ones have more of both.
struct ReferenceDevice {
  double flops = 16e12;     ///< operations per second
  double bandwidth = 1e12;  ///< bytes of memory per second
  double launch = 5e-6;     ///< seconds that a kernel takes at least
};

/// A model with what it computes, for steps of so many samples: launches weigh less the more there
/// are. Throws what trainer::check does.
[[nodiscard]] ModelProfile profile_of(const ModelSettings& settings, std::size_t samples,
                                      const ReferenceDevice& device = {});

/// A model of which nothing but its size is known: so many layers that are alike, one after
/// another. Throws Error(invalid_argument) for fewer parameters than layers, or no layer.
[[nodiscard]] ModelProfile even_profile(double parameters, int layers);

}  // namespace ringside::trainer
