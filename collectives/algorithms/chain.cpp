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
///
/// Either half is a collective of its own, along the same chain rotated: reduce, until the root is
/// its last rank (partial sums lie in scratch), and broadcast, until the root is its first and the
/// data run down from there.
/// Steps: n - 1 + k - 1. Bytes sent by every rank but the last: S.
#include <algorithm>

#include "ringside/collectives/algorithms/builtin.hpp"

namespace ringside {
namespace {

OpStream up(Group g) {
  for (int rank = 1; rank < g.ranks(); ++rank) co_yield g.combine(rank, rank - 1, rank, 0);
}

OpStream down(Group g) {
  for (int rank = g.ranks() - 2; rank >= 0; --rank) co_yield g.copy(rank + 1, rank, 0);
}

/// From the first rank to the last.
OpStream broadcast(Group g) {
  for (int rank = 1; rank < g.ranks(); ++rank) co_yield g.copy(rank - 1, rank, 0);
  if (!g.in_place()) co_yield g.copy(0, 0, 0);
}

/// The chain begun so that the root is its first rank.
std::vector<int> from_root(std::vector<int> order, int root) {
  std::rotate(order.begin(), std::find(order.begin(), order.end(), root), order.end());
  return order;
}

}  // namespace

AlgorithmInfo chain() {
  return {
      .name = "chain",
      .summary = "the sum grows along a chain and runs back; with slices, a pipeline",
      .parameters =
          {{"order", "0-1-...",
            "the ranks along the chain; the last completes it. With a root it is rotated: "
            "reduce ends there, broadcast begins there"}},
      .collectives = {Collective::all_reduce, Collective::broadcast, Collective::reduce},
      .make = [](const Request& request, const Parameters& parameters) {
        const auto order = parameters.order("order", request.ranks);
        if (request.collective == Collective::broadcast)
          return Algorithm{
              .chunks = 1, .lanes = 1, .write = [chain = from_root(order, request.root)](Group g) {
                return broadcast(g.among(chain));
              }};
        if (request.collective == Collective::reduce) {
          auto chain = from_root(order, request.root);
          std::rotate(chain.begin(), chain.begin() + 1, chain.end());
          return Algorithm{
              .chunks = 1, .lanes = 1, .write = [chain](Group g) { return up(g.among(chain)); }};
        }
        return Algorithm::of_halves(
            1, 2,
            {.owner = [order](int) { return order.back(); },
             .reduce = [order](Group g) { return up(g.among(order)); },
             .spread = [order](Group g) { return down(g.among(order).on_lane(1)); }});
      }};
}

}  // namespace ringside
