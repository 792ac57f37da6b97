// SPDX-License-Identifier: MIT
/// Naive: rank 0 adds up everybody's data one after another, then everybody fetches the sum.
///
///     n = 4; per rank a digit for every rank added so far, * when complete
///
///                    rank 0   rank 1   rank 2   rank 3
///     start               0        1        2        3
///     reduce 1           01        1        2        3
///     reduce 2          012        1        2        3
///     reduce 3            *        1        2        3
///     spread              *        *        *        *
///
/// Steps: n (n-1 additions one after another, then one copy for all at once).
/// Bytes sent by rank 0: (n-1) S; received by it: (n-1) S.
/// Additions: ((0 + 1) + 2) + ..., the order that everyone would write down: our bitwise reference.
#include "ringside/collectives/algorithms/builtin.hpp"

namespace ringside {
namespace {

OpStream add_up(Group g) {
  for (int rank = 1; rank < g.ranks(); ++rank) co_yield g.combine(0, 0, rank, 0);
}

OpStream fetch(Group g) {
  for (int rank = 1; rank < g.ranks(); ++rank) co_yield g.copy(0, rank, 0);
}

}  // namespace

AlgorithmInfo naive() {
  return {.name = "naive",
          .summary = "everything added at rank 0, which everybody reads; the bitwise reference",
          .make = [](const Request&, const Parameters&) {
            return Algorithm::of_halves(1, 2,
                                        {.owner = [](int) { return 0; },
                                         .reduce = add_up,
                                         .spread = [](Group g) { return fetch(g.on_lane(1)); }});
          }};
}

}  // namespace ringside
