// SPDX-License-Identifier: MIT
/// Which ranks become a communicator of their own when a communicator is split.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ringside::host {

/// What a rank gives to a split; exchanged as two int32.
struct SplitChoice {
  std::int32_t color = 0;
  std::int32_t key = 0;
};

/// The ranks of a color, by (key, rank).
[[nodiscard]] std::vector<int> ranks_of_color(std::span<const SplitChoice> choices,
                                              std::int32_t color);

}  // namespace ringside::host
