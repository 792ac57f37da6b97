// SPDX-License-Identifier: MIT
/// The two halves of a ring, for those that turn more than one.
#pragma once

#include "ringside/collectives/builder.hpp"

namespace ringside {

/// Chunk c of ranks() chunks ends complete at rank c, having started at rank c + 1. See ring.cpp.
[[nodiscard]] OpStream ring_reduce_scatter(Group g);
/// Brings chunk c from rank c to everybody.
[[nodiscard]] OpStream ring_all_gather(Group g);

}  // namespace ringside
