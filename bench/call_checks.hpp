// SPDX-License-Identifier: MIT
/// Checks of calls on a stage, whoever makes them.
#pragma once

#include <functional>

#include "ringside/bench/stage.hpp"
#include "ringside/collectives/communicator.hpp"

namespace ringside::bench {

/// A call of one rank; what is checked.
using Call = std::function<void(Communicator&, const Arguments&, const CallOptions&)>;

/// Makes the call on communicators as it comes.
void submit_call(Communicator& communicator, const Arguments& arguments,
                 const CallOptions& options);

/// One rank's checked call of a cell, without what is done before and after. Refers to the
/// communicator and the cell.
[[nodiscard]] Stage::CheckedCall checked_call(Communicator& communicator, const Cell& cell,
                                              const CallShape& shape, const Call& call);

/// The whole message, of contributions whose result is exact in any order.
[[nodiscard]] CheckOutcome check_exact(Stage& stage, const Cell& cell, const CallOptions& options,
                                       const Call& call);

/// Whether a rank leaves a barrier before all have come.
[[nodiscard]] CheckOutcome check_barrier(Stage& stage, const CallOptions& options,
                                         const Call& call);

/// Of wrong elements by rank, told by the ranks of this process.
[[nodiscard]] CheckOutcome outcome_of(Stage& stage, std::vector<std::uint64_t> wrong);

/// What an output holds before a checked call: an element that the call forgets stays wrong.
inline constexpr int poison = 0xa5;

/// Blocks of a message whose size is told (volume.hpp).
[[nodiscard]] std::size_t message_blocks(const Request& request);

}  // namespace ringside::bench
