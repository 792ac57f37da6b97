// SPDX-License-Identifier: MIT
/// The models by name: what tensors they consist of. How they compute, an engine knows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/trainer/memory.hpp"

namespace ringside::trainer {

enum class Model {
  /// Two dense layers, 784 - width - 10, ReLU between them (d2l 5.2); computed by hand-written
  /// loops, so that training can be tried where libtorch is not.
  mlp,
  /// conv 20@3x3, ReLU, average pool 2, conv 50@5x5, ReLU, average pool 2, dense 800-128, ReLU,
  /// dense 128-10 (d2l 12.5).
  lenet,
  /// conv width@3x3, batch norm, ReLU; four stages of two residual blocks of width, 2, 4, 8 x
  /// width channels, the first block of stages 2 to 4 with stride 2 and a 1x1 shortcut; average
  /// over the image; dense (d2l 12.6, whose width is 64).
  resnet18
};

[[nodiscard]] std::string_view to_string(Model model);
[[nodiscard]] std::optional<Model> parse_model(std::string_view name);
[[nodiscard]] std::span<const std::string_view> model_names();

struct ModelSettings {
  Model model = Model::lenet;
  /// Hidden units of mlp, channels of resnet18's first stage; 0: the textbook's. lenet has none.
  int width = 0;
  ElementType precision = ElementType::float32;  ///< or float64
  std::uint64_t seed = 1;                        ///< of the first weights
};

/// Throws Error(invalid_argument) for a width that the model has not, or another precision.
void check(const ModelSettings& settings);

/// The width that the settings mean.
[[nodiscard]] int width_of(const ModelSettings& settings);

/// The learning rate of the textbook, for 256 samples a step.
[[nodiscard]] double textbook_rate(Model model);

/// Whether a libtorch is needed to compute it.
[[nodiscard]] bool needs_torch(Model model);

/// Whether it has batch norms, which see a rank's own samples only: k ranks with a k-th of the
/// batch each are then not the same as one rank with all of it.
[[nodiscard]] bool has_batch_norm(Model model);

/// What a model is made of, in the order in which a forward pass uses it.
struct ModelTensors {
  TensorLayout parameters;
  TensorLayout statistics;  ///< running means and variances of the batch norms
};
[[nodiscard]] ModelTensors tensors_of(const ModelSettings& settings);

/// The spread of the first weights, a normal distribution around 0, as in d2l.
inline constexpr double initial_spread = 0.01;

}  // namespace ringside::trainer
