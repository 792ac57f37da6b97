// SPDX-License-Identifier: MIT
/// A section of a model: some layers, and of each a slice of its outputs. What a rank computes
/// where a network is split over ranks.
#pragma once

#include <cstddef>

#include "ringside/trainer/batch.hpp"
#include "ringside/trainer/layers.hpp"
#include "ringside/trainer/memory.hpp"

namespace ringside::trainer {

struct SectionSettings {
  Extent layers;  ///< consecutive ones of `layers_of`
  /// Slice `slice` of `slices` of every layer's channels (part_of); several slices of one layer
  /// only.
  std::size_t slice = 0, slices = 1;
};

/// Works on a replica's own parameters and gradients, on its thread; must not outlive it.
///
/// Activations lie channel by channel, within a channel sample by sample: {channels, samples, side,
/// side}. So a slice of the channels is a run of memory, and slices one after another are the
/// whole. Several micro-batches may be between their forward and their backward pass; each has a
/// number. Errors as of Replica.
class Section {
 public:
  Section() = default;
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;
  virtual ~Section() = default;

  /// Outputs for images, by a section that begins with the first layer; or for all outputs of the
  /// layer before, which stay untouched until the backward pass. At least one sample. Valid until
  /// the next forward pass of that number.
  [[nodiscard]] virtual Memory forward(const BatchView& images, std::size_t micro_batch) = 0;
  [[nodiscard]] virtual Memory forward(Memory inputs, std::size_t micro_batch) = 0;

  /// For the gradient of its outputs, which may be overwritten: adds to the replica's gradients,
  /// and returns the gradient of its inputs as far as it is due to this section, or nothing for
  /// images. Valid until the next forward pass of that number.
  [[nodiscard]] virtual Memory backward(Memory output_gradient, std::size_t micro_batch) = 0;
};

}  // namespace ringside::trainer
