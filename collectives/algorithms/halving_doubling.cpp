// SPDX-License-Identifier: MIT
/// Halving-doubling: reduce-scatter by recursive halving, then all-gather by recursive doubling.
///
/// The data are cut in p chunks (p the power of two within n). In each round of the first half
/// partners (at distance 1, 2, 4, ...) share what both still have: the lower takes the first half
/// of it, the upper the second, and each adds up its half. The second half goes the same way back.
///
///     n = 4; per rank the chunks 0 | 1 | 2 | 3, a digit for every rank added so far, * if complete
///
///                 rank 0               rank 1               rank 2               rank 3
///     start        0 |  0 |  0 |  0     1 |  1 |  1 |  1     2 |  2 |  2 |  2     3 |  3 |  3 |  3
///     halve 1     01 | 01 |  0 |  0     1 |  1 | 01 | 01    23 | 23 |  2 |  2     3 |  3 | 23 | 23
///     halve 2      * | 01 |  0 |  0     1 |  1 |  * | 01    23 |  * |  2 |  2     3 |  3 | 23 |  *
///     double 1     * |  * |  0 |  0     1 |  1 |  * |  *     * |  * |  2 |  2     3 |  3 |  * |  *
///     double 2     * |  * |  * |  *     * |  * |  * |  *     * |  * |  * |  *     * |  * |  * |  *
///
/// Starting with the nearest partner sends the most data the shortest way, and makes the additions
/// those of recursive_doubling. n not a power of two: see power_of_two.hpp.
///
/// Steps: 2 log2 p, + 2 if n is not a power of two. Bytes sent by the busiest rank: 2 S (p-1)/p,
/// + S where an extra rank gets the result.
/// Additions: a balanced tree, the same for every chunk.
/// R. Rabenseifner: Optimization of collective reduction operations, ICCS 2004, LNCS 3036, 1-9.
#include <algorithm>

#include "ringside/collectives/algorithms/builtin.hpp"
#include "ringside/collectives/algorithms/power_of_two.hpp"

namespace ringside {
namespace {

/// What a member still works on after `rounds` rounds: it took the upper half where its bit is set.
struct Run {
  int first, count;
};
Run run_of(const PowerOfTwo& core, int member, int rounds) {
  Run run{0, core.size};
  for (int round = 0; round < rounds; ++round) {
    run.count /= 2;
    if ((member >> round & 1) != 0) run.first += run.count;
  }
  return run;
}

OpStream halve(Group g) {
  const PowerOfTwo core(g.ranks());
  for (int member = 0; member < core.extras; ++member)
    co_yield g.combine(core.rank(member), core.rank(member), core.extra(member), 0, core.size);
  for (int round = 0; round < core.rounds; ++round)
    for (int member = 0; member < core.size; ++member) {
      const int partner = member ^ (1 << round);
      const Run run = run_of(core, member, round + 1);
      co_yield g.combine(core.rank(member), core.rank(std::min(member, partner)),
                         core.rank(std::max(member, partner)), run.first, run.count);
    }
}

OpStream unfold(Group g) {
  const PowerOfTwo core(g.ranks());
  for (int round = core.rounds - 1; round >= 0; --round)
    for (int member = 0; member < core.size; ++member) {
      const int partner = member ^ (1 << round);
      const Run run = run_of(core, partner, round + 1);
      co_yield g.copy(core.rank(partner), core.rank(member), run.first, run.count);
    }
  for (int member = 0; member < core.extras; ++member)
    co_yield g.copy(core.rank(member), core.extra(member), 0, core.size);
}

}  // namespace

AlgorithmInfo halving_doubling() {
  return {.name = "halving_doubling",
          .summary = "recursive halving, then doubling; few steps and least bytes",
          .reference = "Rabenseifner 2004",
          .make = [](const Request& request, const Parameters&) {
            const PowerOfTwo core(request.ranks);
            return Algorithm::of_halves(core.size, 2,
                                        {.owner =
                                             [core](int chunk) {
                                               int member = 0;  // the chunk's bits reversed
                                               for (int round = 0; round < core.rounds; ++round)
                                                 member |= (chunk >> (core.rounds - 1 - round) & 1)
                                                           << round;
                                               return core.rank(member);
                                             },
                                         .reduce = halve,
                                         .spread = [](Group g) { return unfold(g.on_lane(1)); }});
          }};
}

}  // namespace ringside
