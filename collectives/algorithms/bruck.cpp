// SPDX-License-Identifier: MIT
/// Bruck, an all-gather in the fewest steps for any n: at distance d = 1, 2, 4, ... every rank
/// takes over what the rank d after it has, up to the n - d blocks that it still lacks.
///
///     n = 5; per rank the blocks 0 1 2 3 4, * where it has them
///
///                    rank 0       rank 1       rank 2       rank 3       rank 4
///     start          * . . . .    . * . . .    . . * . .    . . . * .    . . . . *
///     step 1         * * . . .    . * * . .    . . * * .    . . . * *    * . . . *
///     step 2         * * * * .    . * * * *    * . * * *    * * . * *    * * * . *
///     step 3         * * * * *    * * * * *    * * * * *    * * * * *    * * * * *
///
/// Blocks lie where they belong at once, so nothing is rotated at the end. A run of blocks that
/// goes on at block 0 is two transfers, in two lanes: side by side.
///
/// Steps: ceil(log2 n). Bytes sent by every rank: S (n-1)/n.
/// J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby: Efficient algorithms for all-to-all
/// communications in multiport message-passing systems, IEEE Trans. Parallel Distrib. Syst. 8
/// (1997) 1143-1156.
#include <algorithm>

#include "ringside/collectives/algorithms/builtin.hpp"

namespace ringside {
namespace {

OpStream gather(Group g) {
  const int n = g.ranks();
  // A run's blocks must lie in one buffer: a rank's own among the others, in the output.
  if (!g.in_place())
    for (int rank = 0; rank < n; ++rank) co_yield g.copy(rank, rank, rank);
  const Group beside = g.on_lane(1);
  for (int distance = 1; distance < n; distance *= 2) {
    const int count = std::min(distance, n - distance);
    for (int rank = 0; rank < n; ++rank) {
      const int from = (rank + distance) % n;
      const int up_to_end = std::min(count, n - from);
      co_yield g.store(rank, g.output(from, from), g.output(rank, from), up_to_end);
      if (up_to_end < count)
        co_yield beside.store(rank, g.output(from, 0), g.output(rank, 0), count - up_to_end);
    }
  }
}

}  // namespace

AlgorithmInfo bruck() {
  return {.name = "bruck",
          .summary = "everybody takes twice as many blocks in each step; fewest steps for any n",
          .reference = "Bruck, Ho, Kipnis, Upfal and Weathersby 1997",
          .collectives = {Collective::all_gather},
          .make = [](const Request&, const Parameters&) {
            return Algorithm{.chunks = 1, .lanes = 2, .unsliced_lanes = 2, .write = gather};
          }};
}

}  // namespace ringside
