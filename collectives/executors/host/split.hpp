// SPDX-License-Identifier: MIT
/// Which ranks become a communicator of their own when a communicator is split.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "ringside/collectives/call.hpp"
#include "ringside/collectives/executors/host/signature.hpp"

namespace ringside::host {

/// What a caller gives to a split.
struct SplitChoice {
  std::int32_t color = 0;
  std::int32_t key = 0;
};

/// What all ranks of a communicator give to a split, by rank. A call that agrees with no caller's.
template <class Given>
[[nodiscard]] std::vector<Given> exchanged_for_split(Communicator::Implementation& communicator,
                                                     const Given& own) {
  static_assert(std::is_trivially_copyable_v<Given> && sizeof(Given) % sizeof(std::int32_t) == 0);
  std::vector<Given> all(static_cast<std::size_t>(communicator.size()));
  const std::size_t elements = sizeof(Given) / sizeof(std::int32_t);
  const CallOptions options{.algorithm = "direct"};
  communicator.run({.collective = Collective::all_gather,
                    .input = reinterpret_cast<const std::byte*>(&own),
                    .output = reinterpret_cast<std::byte*>(all.data()),
                    .blocks = std::span(&elements, 1),
                    .type = ElementType::int32,
                    .op = split_mark,
                    .options = &options});
  return all;
}

/// The ranks of a color, by (key, rank).
[[nodiscard]] std::vector<int> ranks_of_color(std::span<const SplitChoice> choices,
                                              std::int32_t color);

}  // namespace ringside::host
