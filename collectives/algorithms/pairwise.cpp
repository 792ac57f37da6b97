// SPDX-License-Identifier: MIT
/// Pairwise, an all-to-all in which every rank has one partner a step.
///
///     n = 4; per rank the blocks that it gets from 0 | 1 | 2 | 3, * where it has them
///
///                 rank 0               rank 1               rank 2               rank 3
///     start        * |  . |  . |  .     . |  * |  . |  .     . |  . |  * |  .     . |  . |  . |  *
///     step 1       * |  * |  . |  .     * |  * |  . |  .     . |  . |  * |  *     . |  . |  * |  *
///     step 2       * |  * |  * |  .     * |  * |  . |  *     * |  . |  * |  *     . |  * |  * |  *
///     step 3       * |  * |  * |  *     * |  * |  * |  *     * |  * |  * |  *     * |  * |  * |  *
///
/// In step t rank i exchanges with rank i xor t where n is a power of two; for other n it reads
/// from rank i - t, while rank i + t reads from it. Nothing but the order of every rank's queue
/// keeps the steps: there is no barrier between them.
///
/// Steps: n - 1. Bytes sent by every rank: S (n-1)/n, evenly to all others.
/// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in
/// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005) 49-66.
#include <bit>

#include "ringside/collectives/algorithms/builtin.hpp"

namespace ringside {
namespace {

OpStream exchange(Group g) {
  const int n = g.ranks();
  const bool mutual = std::has_single_bit(static_cast<unsigned>(n));
  for (int step = 1; step < n; ++step)
    for (int rank = 0; rank < n; ++rank) {
      const int from = mutual ? rank ^ step : (rank - step + n) % n;
      co_yield g.copy(from, rank, from * n + rank);
    }
  for (int rank = 0; rank < n; ++rank) co_yield g.copy(rank, rank, rank * n + rank);
}

}  // namespace

AlgorithmInfo pairwise() {
  return {.name = "pairwise",
          .summary = "every rank exchanges with one partner a step",
          .reference = "Thakur, Rabenseifner and Gropp 2005",
          .collectives = {Collective::all_to_all},
          .make = [](const Request&, const Parameters&) {
            return Algorithm{.chunks = 1, .lanes = 1, .write = exchange};
          }};
}

}  // namespace ringside
