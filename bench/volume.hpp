// SPDX-License-Identifier: MIT
/// How long a message is and what its time is worth: nccl-tests' counts and bandwidth factors.
#pragma once

#include <cstdint>
#include <string_view>

#include "ringside/collectives/reduction/types.hpp"
#include "ringside/collectives/request.hpp"

namespace ringside::bench {

struct Volume {
  std::uint64_t count = 0;  ///< elements of a block: nccl-tests' column `count`
  std::uint64_t bytes = 0;  ///< of the longest buffer of a rank: its column `size`
};

/// True where every rank owns a block: the buffers that hold all of them are `ranks` blocks long.
[[nodiscard]] bool has_block_per_rank(Collective collective);

/// The message that `bytes` bytes ask for. Where every rank owns a block, a block has bytes /
/// element / ranks elements, rounded down to a multiple of 16 bytes as nccl-tests does, unless
/// `exact`; so the message may be smaller than asked for, and empty. Nothing for a barrier.
[[nodiscard]] Volume volume_of(Collective collective, int ranks, ElementType type,
                               std::uint64_t bytes, bool exact);

/// What the bandwidth (size / time) is multiplied with to get the bus bandwidth: what each link of
/// a bandwidth-optimal implementation would carry.
[[nodiscard]] double bus_factor(Collective collective, int ranks);

/// False for all_to_all, whose input and output hold the same block at different places, and for
/// barrier, which has no buffers.
[[nodiscard]] bool can_be_in_place(Collective collective);

/// "alltoall" for all_to_all; the others are called alike.
[[nodiscard]] std::string_view nccl_tests_name(Collective collective);

/// nccl-tests' name of the operator; "none" where nothing is reduced.
[[nodiscard]] std::string_view redop_name(Collective collective, ReduceOp op);

/// What nccl-tests prints in the column `root`: -1 where there is none.
[[nodiscard]] int root_column(Collective collective, int root);

}  // namespace ringside::bench
