// SPDX-License-Identifier: MIT
/// Which samples a step learns from, and which of them a rank has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ringside/collectives/layout.hpp"

namespace ringside::trainer {

/// Steps of `batch` samples, at least 1, the last one with what is left.
[[nodiscard]] constexpr std::size_t steps_of_epoch(std::size_t samples, std::size_t batch) {
  return samples / batch + (samples % batch != 0 ? 1 : 0);
}

/// The samples of an epoch in a random order that depends on seed and epoch only: every rank works
/// it out for itself, and a run that is resumed, or has another number of ranks, has the same.
/// Every sample comes once. A step takes `batch` of them in order, the last step what is left.
class EpochOrder {
 public:
  /// `batch` is at least 1.
  EpochOrder(std::size_t samples, std::size_t batch, std::uint64_t seed, std::uint64_t epoch);

  [[nodiscard]] std::size_t steps() const;
  /// The samples of step 0, 1, ...
  [[nodiscard]] std::span<const std::uint32_t> step(std::size_t number) const;

 private:
  std::vector<std::uint32_t> order_;
  std::size_t batch_;
};

/// A step's samples are cut in `pieces` (of gradient accumulation) one after another, nearly equal;
/// a piece is cut over the ranks the same way. So k ranks together have what one rank would have.
[[nodiscard]] inline std::span<const std::uint32_t> piece_of(std::span<const std::uint32_t> samples,
                                                             const Extent& extent) {
  return samples.subspan(extent.offset, extent.length);
}

}  // namespace ringside::trainer
