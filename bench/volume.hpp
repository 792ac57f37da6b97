// SPDX-License-Identifier: MIT
/// How long a message is and what its time is worth: nccl-tests' counts and bandwidth factors.
#pragma once

#include <cstdint>
#include <string_view>

#include "ringside/bench/operation.hpp"
#include "ringside/collectives/reduction/types.hpp"

namespace ringside::bench {

struct Volume {
  std::uint64_t count = 0;  ///< elements of a block: nccl-tests' column `count`
  std::uint64_t bytes = 0;  ///< of the longest buffer of a rank: its column `size`
};

/// The message that `bytes` bytes ask for. Where every rank owns a block, a block has bytes /
/// element / ranks elements, rounded down to a multiple of 16 bytes as nccl-tests does, unless
/// `exact`; so the message may be smaller than asked for, and empty. Nothing for a barrier.
[[nodiscard]] Volume volume_of(Operation collective, int ranks, ElementType type,
                               std::uint64_t bytes, bool exact);

/// What the bandwidth (size / time) is multiplied with to get the bus bandwidth: what each link of
/// a bandwidth-optimal implementation would carry.
[[nodiscard]] double bus_factor(Operation collective, int ranks);

/// nccl-tests' name of the operator; "none" where nothing is reduced.
[[nodiscard]] std::string_view redop_name(Operation collective, ReduceOp op);

/// What nccl-tests prints in the column `root`: -1 where there is none.
[[nodiscard]] int root_column(Operation collective, int root);

}  // namespace ringside::bench
