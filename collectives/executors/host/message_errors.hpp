// SPDX-License-Identifier: MIT
/// What a rank is told of a message whose two ends do not come together. All of it names the rank
/// and its peer.
#pragma once

#include <cstddef>

#include "ringside/base/clock.hpp"
#include "ringside/base/error.hpp"
#include "ringside/collectives/calls.hpp"

namespace ringside::host {

/// The ends do not agree: the peer's is of so many elements of that type.
[[nodiscard]] Error message_mismatch(const Message& message, int rank, std::size_t peer_elements,
                                     ElementType peer_type);

/// The peer's end has not come within the limit: "rank 1 has not sent the 3 int32 that rank 0
/// expects after 2 s".
[[nodiscard]] Error message_overdue(const Message& message, int rank, Seconds limit);

/// It will never come: the peer's body has ended.
[[nodiscard]] Error message_without_peer(const Message& message, int rank);

}  // namespace ringside::host
