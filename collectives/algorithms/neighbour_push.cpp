// SPDX-License-Identifier: MIT
/// Neighbour push: a direct exchange in stages, in which every rank writes to one rank and is
/// written to by one.
///
/// Chunk c belongs to rank c. In stage t every rank pushes its part of chunk r + t to scratch of
/// its owner r + t, which adds it at once; then in n - 1 more stages every rank pushes its finished
/// chunk to rank r + t (ranks mod n).
///
///     n = 3; per rank the chunks 0 | 1 | 2 and what its scratch receives; * when complete
///
///                 rank 0                  rank 1                  rank 2
///     start       0 |  0 |  0     .        1 |  1 |  1     .       2 |  2 |  2     .
///     stage 1    02 |  0 |  0     2        1 | 01 |  1     0       2 |  2 | 12     1
///     stage 2     * |  0 |  0     1        1 |  * |  1     2       2 |  2 |  *     0
///     stage 3     * |  0 |  *     1        * |  * |  1     2       2 |  * |  *     0
///     stage 4     * |  * |  *     1        * |  * |  *     2       * |  * |  *     0
///
/// For machines where several writers at a time collapse, and which do not complete remote reads:
/// nothing is ever read across. Scratch alternates between two slots, so that a stage's data may
/// arrive while those of the stage before are added.
///
/// Steps: 2 (n-1). Bytes sent by every rank: 2 S (n-1)/n, to all others evenly.
/// Additions: the owner's, then the owner - 1's, owner - 2's, ...: rotated by chunk.
/// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in
/// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005) 49-66 (pairwise exchange).
#include <algorithm>

#include "ringside/collectives/algorithms/builtin.hpp"

namespace ringside {
namespace {

OpStream push_parts(Group g) {
  const int n = g.ranks();
  const int slots = std::min(2, n - 1);
  std::vector<Location> arrivals;  // [rank * slots + slot]
  for (int rank = 0; rank < n; ++rank)
    for (int slot = 0; slot < slots; ++slot)
      arrivals.push_back(g.scratch(rank, g.new_slot(rank, rank, 1), rank));
  const auto arrival = [&](int rank, int stage) {
    return arrivals[static_cast<std::size_t>(rank * slots + stage % slots)];
  };
  for (int stage = 1; stage < n; ++stage) {
    for (int rank = 0; rank < n; ++rank) {
      const int owner = (rank + stage) % n;
      co_yield g.store(rank, g.cur(rank, owner), arrival(owner, stage));
    }
    for (int rank = 0; rank < n; ++rank)
      co_yield g.add(rank, g.cur(rank, rank), arrival(rank, stage), g.output(rank, rank));
  }
}

OpStream push_results(Group g) {
  const int n = g.ranks();
  for (int stage = 1; stage < n; ++stage)
    for (int rank = 0; rank < n; ++rank) co_yield g.push(rank, (rank + stage) % n, rank);
}

}  // namespace

AlgorithmInfo neighbour_push() {
  return {.name = "neighbour_push",
          .summary = "direct exchange in stages of one writer and one reader per rank; no reads",
          .reference = "Thakur, Rabenseifner and Gropp 2005",
          .make = [](const Request& request, const Parameters&) {
            return Algorithm::of_halves(
                request.ranks, 2,
                {.owner = [](int chunk) { return chunk; },
                 .reduce = push_parts,
                 .spread = [](Group g) { return push_results(g.on_lane(1)); }});
          }};
}

}  // namespace ringside
