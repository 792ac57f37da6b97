// SPDX-License-Identifier: MIT
/// Scatter and all-gather, a broadcast for large data: every rank takes one chunk from the root,
/// and a ring brings each chunk from there to all others.
///
///     n = 4, root 0; per rank the chunks 0 | 1 | 2 | 3, * where it has them
///
///                 rank 0               rank 1               rank 2               rank 3
///     start        * |  * |  * |  *     . |  . |  . |  .     . |  . |  . |  .     . |  . |  . |  .
///     scatter      * |  * |  * |  *     . |  * |  . |  .     . |  . |  * |  .     . |  . |  . |  *
///     gather 1     * |  * |  * |  *     * |  * |  . |  .     . |  * |  * |  .     . |  . |  * |  *
///     gather 2     * |  * |  * |  *     * |  * |  . |  *     * |  * |  * |  .     . |  * |  * |  *
///     gather 3     * |  * |  * |  *     * |  * |  * |  *     * |  * |  * |  *     * |  * |  * |  *
///
/// The root has everything and takes part in the ring as a source only. The chunks are scattered in
/// one step: the root's link has to carry them one after another in any case, and a tree would
/// carry most of them more than once.
///
/// Steps: n. Bytes sent by the root: 2 S (n-1)/n, however many ranks there are; by the others S
/// (n-1)/n, by the one before the root nothing.
/// M. Barnett, L. Shuler, R. van de Geijn, S. Gupta, D. G. Payne, J. Watts: Interprocessor
/// collective communication library (InterCom), Scalable High Performance Computing Conf. 1994,
/// 357-364.
#include <algorithm>

#include "ringside/collectives/algorithms/builtin.hpp"

namespace ringside {
namespace {

/// `root` is a place of the ring.
OpStream scatter_and_gather(Group g, int root) {
  const int n = g.ranks();
  for (int rank = 0; rank < n; ++rank)
    if (rank != root) co_yield g.copy(root, rank, rank);
  const Group ring = g.on_lane(1);
  for (int step = 1; step < n; ++step)
    for (int rank = 0; rank < n; ++rank)
      if (rank != root) co_yield ring.copy((rank + n - 1) % n, rank, (rank - step + n) % n);
  if (!g.in_place()) co_yield g.copy(root, root, 0, n);
}

}  // namespace

AlgorithmInfo scatter_all_gather() {
  return {.name = "scatter_all_gather",
          .summary = "the root scatters chunks, a ring brings them to all; for large data",
          .reference = "Barnett, Shuler, van de Geijn and others 1994",
          .parameters = {{"order", "0-1-...", "the ranks round the ring"}},
          .collectives = {Collective::broadcast},
          .make = [](const Request& request, const Parameters& parameters) {
            const auto order = parameters.order("order", request.ranks);
            const auto root = std::find(order.begin(), order.end(), request.root) - order.begin();
            return Algorithm{.chunks = request.ranks, .lanes = 2, .write = [order, root](Group g) {
                               return scatter_and_gather(g.among(order), static_cast<int>(root));
                             }};
          }};
}

}  // namespace ringside
