// SPDX-License-Identifier: MIT
/// Linear: the root deals with every other rank itself, with nobody between.
///
///     n = 3, root 0
///
///     broadcast: everybody reads the root's data      reduce: the root adds up everybody's, in one
///                                                     op; a digit for every rank added so far
///                rank 0   rank 1   rank 2                        rank 0   rank 1   rank 2
///     start           *        .        .             start           0        1        2
///     step 1          *        *        *             step 1          *        1        2
///
///     scatter: everybody reads its block of the       gather: everybody writes its block to the
///     root's; per rank the blocks 0 | 1 | 2           root's output; per rank the blocks 0 | 1 | 2
///
///                rank 0      rank 1      rank 2                  rank 0      rank 1      rank 2
///     start      * | * | *   . | . | .   . | . | .    start      * | . | .   . | * | .   . | . | *
///     step 1     * | * | *   . | * | .   . | . | *    step 1     * | * | *   . | * | .   . | . | *
///
/// Steps: 1. Bytes sent (reduce and gather: received) by the root: (n-1) S; scatter and gather
/// S (n-1)/n, S being all blocks together.
/// Additions of reduce: in rank order in one op whatever the root, so 16-bit floats are rounded
/// once.
#include "ringside/collectives/algorithms/builtin.hpp"
#include "ringside/collectives/algorithms/rooted.hpp"

namespace ringside {
namespace {

OpStream broadcast(Group g, int root) {
  for (int rank = 0; rank < g.ranks(); ++rank)
    if (rank != root) co_yield g.copy(root, rank, 0);
  if (!g.in_place()) co_yield g.copy(root, root, 0);
}

OpStream reduce(Group g, int root) {
  std::vector<Location> values, result = {g.output(root, 0)};
  for (int rank = 0; rank < g.ranks(); ++rank) values.push_back(g.cur(rank, 0));
  co_yield g.op(root, values, result);
}

OpStream gather(Group g, int root) {
  for (int rank = 0; rank < g.ranks(); ++rank)
    if (rank != root) co_yield g.push(rank, root, rank);
  if (!g.in_place()) co_yield g.copy(root, root, root);
}

OpStream scatter(Group g, int root) {
  for (int rank = 0; rank < g.ranks(); ++rank)
    if (rank != root) co_yield g.copy(root, rank, rank);
  if (!g.in_place()) co_yield g.copy(root, root, root);
}

}  // namespace

AlgorithmInfo linear() {
  return {.name = "linear",
          .summary = "the root and every other rank, directly; one step, a busy root",
          .collectives = {Collective::broadcast, Collective::reduce, Collective::gather,
                          Collective::scatter},
          .make = [](const Request& request, const Parameters&) {
            return rooted_algorithm(request, {broadcast, reduce, gather, scatter});
          }};
}

}  // namespace ringside
