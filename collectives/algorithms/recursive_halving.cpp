// SPDX-License-Identifier: MIT
/// Recursive halving, a reduce-scatter: partners at distance p/2, p/4, ..., 1 share what both still
/// have; each adds up the half that holds its own block.
///
///     n = 4; per rank the blocks 0 | 1 | 2 | 3, a digit for every rank added so far, * if complete
///
///                 rank 0               rank 1               rank 2               rank 3
///     start        0 |  0 |  0 |  0     1 |  1 |  1 |  1     2 |  2 |  2 |  2     3 |  3 |  3 |  3
///     halve 1     02 | 02 |  0 |  0    13 | 13 |  1 |  1     2 |  2 | 02 | 02     3 |  3 | 13 | 13
///     halve 2      * | 02 |  0 |  0    13 |  * |  1 |  1     2 |  2 |  * | 02     3 |  3 | 13 |  *
///
/// Starting with the farthest partner is what brings every block home: halving_doubling starts with
/// the nearest, because there anybody may hold any chunk between its halves.
///
/// n not a power of two: see power_of_two.hpp. A member that has an extra rank works for the blocks
/// of both (they are neighbours, so what a member works for stays one run) and hands one over in
/// the end.
///
/// Partial sums lie in scratch: S/2 of it, and S where a member has an extra.
///
/// Steps: log2 p, + 2 if n is not a power of two. Bytes sent by every rank: S (n-1)/n; by an extra
/// rank S, so that a member with one receives up to 2 S.
/// Additions: a balanced tree, the same for every block.
/// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in
/// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005) 49-66.
#include <algorithm>

#include "ringside/collectives/algorithms/builtin.hpp"
#include "ringside/collectives/algorithms/power_of_two.hpp"

namespace ringside {
namespace {

OpStream halve(Group g) {
  const PowerOfTwo core(g.ranks());
  for (int member = 0; member < core.extras; ++member)
    co_yield g.combine(core.rank(member), core.rank(member), core.extra(member), 0, g.ranks());
  for (int half = core.size / 2; half >= 1; half /= 2)
    for (int member = 0; member < core.size; ++member) {
      const int partner = member ^ half;
      const int first_member = member & ~(half - 1);
      const int first = core.rank(first_member);  // of the blocks of this half's members
      const int end = core.rank(first_member + half);
      co_yield g.combine(core.rank(member), core.rank(std::min(member, partner)),
                         core.rank(std::max(member, partner)), first, end - first);
    }
  for (int member = 0; member < core.extras; ++member) {
    const int rank = core.rank(member);
    const int extra = core.extra(member);
    co_yield g.copy(rank, extra, extra);
    co_yield g.copy(rank, rank, rank);
  }
}

}  // namespace

AlgorithmInfo recursive_halving() {
  return {.name = "recursive_halving",
          .summary = "partners at halving distances share what they have; few steps, least bytes",
          .reference = "Thakur, Rabenseifner and Gropp 2005",
          .collectives = {Collective::reduce_scatter},
          .make = [](const Request&, const Parameters&) {
            return Algorithm{.chunks = 1, .lanes = 1, .write = halve};
          }};
}

}  // namespace ringside
