// SPDX-License-Identifier: MIT
/// Direct: every pair of ranks that has something to exchange does so at once, with nobody between.
///
///     reduce_scatter, n = 3; per rank the blocks 0 | 1 | 2, a digit for every rank added so far, *
///     when complete: every rank adds up its block of everybody's input, in one op
///
///                    rank 0           rank 1           rank 2
///     start           0 |  0 |  0      1 |  1 |  1      2 |  2 |  2
///     step 1          * |  0 |  0      1 |  * |  1      2 |  2 |  *
///
///     all_gather, n = 3; per rank the blocks 0 | 1 | 2: every rank writes its block to everybody's
///     output, in one op
///
///     start           * |  . |  .      . |  * |  .      . |  . |  *
///     step 1          * |  * |  *      * |  * |  *      * |  * |  *
///
///     all_to_all, n = 3; per rank the blocks that it gets from 0 | 1 | 2: every rank reads its
///     block of every other rank's input, from each in a lane of its own (of 16 at most)
///
///     start           * |  . |  .      . |  * |  .      . |  . |  *
///     step 1          * |  * |  *      * |  * |  *      * |  * |  *
///
/// Steps: 1; all_to_all ceil((n-1) / 16). Bytes sent by every rank: S (n-1)/n.
/// Additions of reduce_scatter: in rank order in one op, so 16-bit floats are rounded once.
/// The halves of two_shot, as collectives of their own.
#include <algorithm>

#include "ringside/collectives/algorithms/builtin.hpp"

namespace ringside {
namespace {

OpStream fold_own(Group g) {
  std::vector<Location> values, result(1);
  for (int owner = 0; owner < g.ranks(); ++owner) {
    values.clear();
    for (int rank = 0; rank < g.ranks(); ++rank) values.push_back(g.cur(rank, owner));
    result[0] = g.output(owner, owner);
    co_yield g.op(owner, values, result);
  }
}

OpStream write_to_all(Group g) {
  const int n = g.ranks();
  std::vector<Location> own(1), outputs;
  for (int rank = 0; rank < n; ++rank) {
    own[0] = g.cur(rank, rank);
    outputs.clear();
    for (int hop = 1; hop < n; ++hop)  // the next rank first: nobody is everybody's first
      outputs.push_back(g.output((rank + hop) % n, rank));
    if (!g.in_place()) outputs.push_back(g.output(rank, rank));
    co_yield g.op(rank, own, outputs);
  }
}

OpStream read_from_all(Group g) {
  const int n = g.ranks();
  for (int hop = 1; hop < n; ++hop)  // staggered: in each round everybody is read by one
    for (int rank = 0; rank < n; ++rank) {
      const int from = (rank + hop) % n;
      co_yield g.on_lane((hop - 1) % most_lanes).copy(from, rank, from * n + rank);
    }
  for (int rank = 0; rank < n; ++rank) co_yield g.copy(rank, rank, rank * n + rank);
}

}  // namespace

AlgorithmInfo direct() {
  return {
      .name = "direct",
      .summary = "every two ranks exchange what they have for each other, all at once",
      .collectives = {Collective::reduce_scatter, Collective::all_gather, Collective::all_to_all},
      .make = [](const Request& request, const Parameters&) {
        if (request.collective == Collective::reduce_scatter)
          return Algorithm{.chunks = 1, .lanes = 1, .write = fold_own};
        if (request.collective == Collective::all_gather)
          return Algorithm{.chunks = 1, .lanes = 1, .write = write_to_all};
        const int lanes = std::clamp(request.ranks - 1, 1, most_lanes);
        return Algorithm{
            .chunks = 1, .lanes = lanes, .unsliced_lanes = lanes, .write = read_from_all};
      }};
}

}  // namespace ringside
