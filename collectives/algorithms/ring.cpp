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
/// Either half is a collective of its own: reduce_scatter (partial sums lie in scratch, S (n-2)/n)
/// and all_gather, of a block per rank; the block that ends or begins at a rank is the rank's own,
/// wherever the order puts it.
///
/// Steps: 2 (n-1). Bytes sent by every rank: 2 S (n-1)/n, all to its next. A half: half of both.
/// Additions: rotated by chunk, so bits depend on n and on where a chunk begins.
/// P. Patarasuk, X. Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations,
/// J. Parallel Distrib. Comput. 69 (2009) 117-124.
#include <numeric>

#include "ringside/collectives/algorithms/builtin.hpp"
#include "ringside/collectives/algorithms/ring_steps.hpp"

namespace ringside {
namespace {

/// Place p's chunk is chunk p.
std::vector<int> by_place(int ranks) {
  std::vector<int> chunks(static_cast<std::size_t>(ranks));
  std::iota(chunks.begin(), chunks.end(), 0);
  return chunks;
}

OpStream reduce_scatter(Group g, std::vector<int> chunk_of) {
  const int n = g.ranks();
  for (int step = 1; step < n; ++step)
    for (int rank = 0; rank < n; ++rank) {
      const int previous = (rank + n - 1) % n;
      const auto place = static_cast<std::size_t>((rank - step - 1 + 2 * n) % n);
      co_yield g.combine(rank, previous, rank, chunk_of[place]);
    }
}

OpStream all_gather(Group g, std::vector<int> chunk_of) {
  const int n = g.ranks();
  for (int step = 1; step < n; ++step)
    for (int rank = 0; rank < n; ++rank) {
      const auto place = static_cast<std::size_t>((rank - step + n) % n);
      co_yield g.copy((rank + n - 1) % n, rank, chunk_of[place]);
    }
}

/// The collective: everybody keeps its own block too.
OpStream all_gather_blocks(Group g, std::vector<int> order) {
  for (const Op& op : all_gather(g.among(order), order)) co_yield op;
  if (g.in_place()) co_return;
  for (int rank = 0; rank < g.ranks(); ++rank) co_yield g.copy(rank, rank, rank);
}

}  // namespace

OpStream ring_reduce_scatter(Group g) {
  auto chunk_of = by_place(g.ranks());
  return reduce_scatter(std::move(g), std::move(chunk_of));
}

OpStream ring_all_gather(Group g) {
  auto chunk_of = by_place(g.ranks());
  return all_gather(std::move(g), std::move(chunk_of));
}

AlgorithmInfo ring() {
  return {
      .name = "ring",
      .summary = "reduce-scatter and all-gather round a ring; least bytes per rank",
      .reference = "Patarasuk and Yuan 2009",
      .parameters = {{"order", "0-1-...", "the ranks round the ring"}},
      .collectives = {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather},
      .make = [](const Request& request, const Parameters& parameters) {
        const auto order = parameters.order("order", request.ranks);
        if (request.collective == Collective::reduce_scatter)
          return Algorithm{.chunks = 1, .lanes = 1, .write = [order](Group g) {
                             return reduce_scatter(g.among(order), order);
                           }};
        if (request.collective == Collective::all_gather)
          return Algorithm{.chunks = 1, .lanes = 1, .write = [order](Group g) {
                             return all_gather_blocks(std::move(g), order);
                           }};
        return Algorithm::of_halves(
            request.ranks, 2,
            {.owner = [order](int chunk) { return order[static_cast<std::size_t>(chunk)]; },
             .reduce = [order](Group g) { return ring_reduce_scatter(g.among(order)); },
             .spread = [order](Group g) { return ring_all_gather(g.among(order).on_lane(1)); }});
      }};
}

}  // namespace ringside
