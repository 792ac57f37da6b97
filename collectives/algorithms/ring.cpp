// SPDX-License-Identifier: MIT
/// Ring: reduce-scatter, then all-gather, each in n - 1 steps from every rank to the next.
///
/// The data are cut in n chunks. Chunk c starts at rank c + 1, collects every rank's part on its
/// way round, is complete at rank c, and then makes the round once more. In step t rank i takes
/// chunk i - t - 1 from rank i - 1 and adds its own; in step t of the second half it takes over the
/// finished chunk i - t (ranks are places in the order, all mod n).
///
///     n = 3; per rank the chunks 0 | 1 | 2, a digit for every rank added so far, * when complete
///
///                    rank 0           rank 1           rank 2
///     start           0 |  0 |  0      1 |  1 |  1      2 |  2 |  2
///     reduce 1        0 | 02 |  0      1 |  1 | 01     12 |  2 |  2
///     reduce 2        * | 02 |  0      1 |  * | 01     12 |  2 |  *
///     gather 1        * | 02 |  *      * |  * | 01     12 |  * |  *
///     gather 2        * |  * |  *      * |  * |  *      * |  * |  *
///
/// Steps: 2 (n-1). Bytes sent by every rank: 2 S (n-1)/n, all to its next.
/// Additions: rotated by chunk, so bits depend on n and on where a chunk begins.
/// P. Patarasuk, X. Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations,
/// J. Parallel Distrib. Comput. 69 (2009) 117-124.
#include "ringside/collectives/algorithms/builtin.hpp"
#include "ringside/collectives/algorithms/ring_steps.hpp"

namespace ringside {

OpStream ring_reduce_scatter(Group g) {
  const int n = g.ranks();
  for (int step = 1; step < n; ++step)
    for (int rank = 0; rank < n; ++rank) {
      const int previous = (rank + n - 1) % n;
      co_yield g.combine(rank, previous, rank, (rank - step - 1 + 2 * n) % n);
    }
}

OpStream ring_all_gather(Group g) {
  const int n = g.ranks();
  for (int step = 1; step < n; ++step)
    for (int rank = 0; rank < n; ++rank)
      co_yield g.copy((rank + n - 1) % n, rank, (rank - step + n) % n);
}

AlgorithmInfo ring() {
  return {
      .name = "ring",
      .summary = "reduce-scatter and all-gather round a ring; least bytes per rank",
      .reference = "Patarasuk and Yuan 2009",
      .parameters = {{"order", "0-1-...", "the ranks round the ring"}},
      .make = [](const Request& request, const Parameters& parameters) {
        const auto order = parameters.order("order", request.ranks);
        return Algorithm::of_halves(
            request.ranks, 2,
            {.owner = [order](int chunk) { return order[static_cast<std::size_t>(chunk)]; },
             .reduce = [order](Group g) { return ring_reduce_scatter(g.among(order)); },
             .spread = [order](Group g) { return ring_all_gather(g.among(order).on_lane(1)); }});
      }};
}

}  // namespace ringside
