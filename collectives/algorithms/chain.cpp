// SPDX-License-Identifier: MIT
/// Chain: the sum grows along a chain of ranks to its end, and the result runs back.
///
///     n = 4; per rank a digit for every rank added so far, * when complete
///
///                    rank 0   rank 1   rank 2   rank 3
///     start               0        1        2        3
///     up 1                0       01        2        3
///     up 2                0       01      012        3
///     up 3                0       01      012        *
///     down 1              0       01        *        *
///     down 2              0        *        *        *
///     down 3              *        *        *        *
///
/// One link is busy at a time, unless the data are cut: with k slices each slice follows the one
/// before it, and the way back of the first overlaps with the way up of the others (own lane).
///
/// Steps: 2 (n-1) + k - 1. Bytes sent by every inner rank: 2 S, one S each way, so a full-duplex
/// link carries S in either direction whatever n is.
/// Additions: in the order of the chain, the same for every element.
#include "ringside/collectives/algorithms/builtin.hpp"

namespace ringside {
namespace {

OpStream up(Group g) {
  for (int rank = 1; rank < g.ranks(); ++rank) co_yield g.combine(rank, rank - 1, rank, 0);
}

OpStream down(Group g) {
  for (int rank = g.ranks() - 2; rank >= 0; --rank) co_yield g.copy(rank + 1, rank, 0);
}

}  // namespace

AlgorithmInfo chain() {
  return {.name = "chain",
          .summary = "the sum grows along a chain and runs back; with slices, a pipeline",
          .parameters = {{"order", "0-1-...", "the ranks along the chain; the last completes it"}},
          .make = [](const Request& request, const Parameters& parameters) {
            const auto order = parameters.order("order", request.ranks);
            return Algorithm::of_halves(
                1, 2,
                {.owner = [order](int) { return order.back(); },
                 .reduce = [order](Group g) { return up(g.among(order)); },
                 .spread = [order](Group g) { return down(g.among(order).on_lane(1)); }});
          }};
}

}  // namespace ringside
