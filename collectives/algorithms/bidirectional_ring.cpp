// SPDX-License-Identifier: MIT
/// Bidirectional ring: one half of the data goes round the ring forwards, the other backwards, at
/// the same time, so both directions between neighbours carry data.
///
///     n = 3; per rank 3 chunks that turn forwards and 3 that turn backwards, after each step
///
///                rank 0                   rank 1                   rank 2
///     start       0  0  0 |  0  0  0       1  1  1 |  1  1  1       2  2  2 |  2  2  2
///     reduce 1    0 02  0 | 01  0  0       1  1 01 |  1  1 12      12  2  2 |  2 02  2
///     reduce 2    * 02  0 | 01  0  *       1  * 01 |  1  * 12      12  2  * |  * 02  2
///     gather 1    * 02  * | 01  *  *       *  * 01 |  *  * 12      12  *  * |  * 02  *
///     gather 2    *  *  * |  *  *  *       *  *  * |  *  *  *       *  *  * |  *  *  *
///
/// Backwards means: the ring with its order reversed; see ring.cpp for one ring.
///
/// Steps: 2 (n-1), with a lane for each direction. Bytes sent by every rank: 2 S (n-1)/n, half to
/// either neighbour; faster than a ring where a rank's links to its two neighbours are not the
/// same. Additions: as in two rings, rotated by chunk. P. Patarasuk, X. Yuan: Bandwidth optimal
/// all-reduce algorithms for clusters of workstations, J. Parallel Distrib. Comput. 69 (2009)
/// 117-124 (one ring).
#include <algorithm>

#include "ringside/collectives/algorithms/builtin.hpp"
#include "ringside/collectives/algorithms/ring_steps.hpp"

namespace ringside {
namespace {

struct TwoRings {
  std::vector<int> forwards, backwards;

  explicit TwoRings(std::vector<int> order) : forwards(order), backwards(std::move(order)) {
    std::reverse(backwards.begin(), backwards.end());
  }
  [[nodiscard]] int owner(int chunk) const {
    const auto n = forwards.size();
    const auto c = static_cast<std::size_t>(chunk);
    return c < n ? forwards[c] : backwards[c - n];
  }
};

/// Both rings turn by turn, in the first and the second half of the chunks, in lanes `lane` and
/// `lane + 1`.
OpStream turn(Group g, TwoRings rings, OpStream (*half)(Group), int lane) {
  const int n = g.ranks();
  OpStream forwards = half(g.among(rings.forwards).part(0, n, n).on_lane(lane));
  OpStream backwards = half(g.among(rings.backwards).part(n, n, n).on_lane(lane + 1));
  while (const Op* op = forwards.next()) {
    co_yield *op;
    co_yield *backwards.next();
  }
}

}  // namespace

AlgorithmInfo bidirectional_ring() {
  return {.name = "bidirectional_ring",
          .summary = "two rings in opposite directions, each with half of the data",
          .reference = "Patarasuk and Yuan 2009",
          .parameters = {{"order", "0-1-...", "the ranks round the ring"}},
          .make = [](const Request& request, const Parameters& parameters) {
            const TwoRings rings(parameters.order("order", request.ranks));
            auto algorithm = Algorithm::of_halves(
                2 * request.ranks, 4,
                {.owner = [rings](int chunk) { return rings.owner(chunk); },
                 .reduce = [rings](Group g) { return turn(g, rings, ring_reduce_scatter, 0); },
                 .spread = [rings](Group g) { return turn(g, rings, ring_all_gather, 2); }});
            algorithm.unsliced_lanes = 2;
            return algorithm;
          }};
}

}  // namespace ringside
