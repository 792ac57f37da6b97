// SPDX-License-Identifier: MIT
/// Binomial tree: the distance doubles while the data come down to rank 0, and halves while the sum
/// goes out again. For any n: whoever has no partner sits the round out.
///
///     n = 5; per rank a digit for every rank added so far, * when complete
///
///                    rank 0   rank 1   rank 2   rank 3   rank 4
///     start               0        1        2        3        4
///     reduce, 1 apart    01        1       23        3        4
///     reduce, 2        0123        1       23        3        4
///     reduce, 4           *        1       23        3        4
///     spread, 4           *        1       23        3        *
///     spread, 2           *        1        *        3        *
///     spread, 1           *        *        *        *        *
///
/// The lower rank of each pair does the work: it reads the other's value and adds it, later it
/// writes the sum to the other.
///
/// Steps: 2 ceil(log2 n). Bytes sent by rank 0: ceil(log2 n) S, and as many received.
/// Additions: a balanced tree in rank order, the same for every element.
/// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in
/// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005) 49-66.
#include "ringside/collectives/algorithms/builtin.hpp"

namespace ringside {
namespace {

OpStream gather_up(Group g) {
  const int n = g.ranks();
  for (int distance = 1; distance < n; distance *= 2)
    for (int rank = 0; rank + distance < n; rank += 2 * distance)
      co_yield g.combine(rank, rank, rank + distance, 0);
}

OpStream hand_out(Group g) {
  const int n = g.ranks();
  int distance = 1;
  while (2 * distance < n) distance *= 2;
  for (; distance >= 1; distance /= 2)
    for (int rank = 0; rank + distance < n; rank += 2 * distance)
      co_yield g.push(rank, rank + distance, 0);
}

}  // namespace

AlgorithmInfo binomial() {
  return {.name = "binomial",
          .summary = "a tree of doubling distances to rank 0 and back; few steps, a busy root",
          .reference = "Thakur, Rabenseifner and Gropp 2005",
          .make = [](const Request&, const Parameters&) {
            return Algorithm::of_halves(1, 2,
                                        {.owner = [](int) { return 0; },
                                         .reduce = gather_up,
                                         .spread = [](Group g) { return hand_out(g.on_lane(1)); }});
          }};
}

}  // namespace ringside
