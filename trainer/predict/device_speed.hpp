// SPDX-License-Identifier: MIT
/// How fast one device computes: told, published, or measured here.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/trainer/engine.hpp"

namespace ringside::trainer {

/// A backward pass has two products for each of the forward pass.
inline constexpr double usual_backward_share = 2.0 / 3;

/// What a device takes for a pass over its batch: forward pass, loss, backward pass, and what else
/// a step needs. Without communication.
struct DeviceSpeed {
  double seconds = 0;
  double fixed = 0;  ///< of these, whatever the batch: launches, Python, loading
  double backward_share = usual_backward_share;
  std::string source;  ///< for people

  /// The same for `times` as large a batch: what is not fixed goes in proportion.
  [[nodiscard]] DeviceSpeed scaled(double times) const;
};

/// A step of one GPU that somebody printed.
struct PublishedSpeed {
  std::string_view name;  ///< "d2l-2023"
  Model model = Model::lenet;
  double samples = 0;
  double seconds = 0;
  /// What did not become less where two GPUs shared the samples; 0: not published.
  double fixed = 0;
  std::string_view source;
};
[[nodiscard]] std::span<const PublishedSpeed> published_speeds();

/// The published one of that name for the model (the textbook's width); null if there is none. No
/// name: the newest.
[[nodiscard]] const PublishedSpeed* published_speed(Model model, std::string_view name = {});
/// In words, for `samples` a pass.
[[nodiscard]] DeviceSpeed speed_of(const PublishedSpeed& step, double samples);

/// What a short run of one rank came to.
struct MeasuredSpeed {
  DeviceSpeed speed;
  std::vector<double> ready;  ///< of each parameter tensor, as ModelProfile::ready
};
/// Trains on made-up images for some steps (at least two, about five seconds of them) by one thread
/// of this machine's processor, and takes medians of its processor time. Says so in `source`: it is
/// no GPU's speed.
[[nodiscard]] MeasuredSpeed measure_here(Engine& engine, const ModelSettings& settings,
                                         std::size_t samples);

}  // namespace ringside::trainer
