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
/// With a root (broadcast, reduce, gather, scatter) only one way is gone, in the same tree with the
/// root as leader of every part that it is in; rank_tree.hpp. So sums do not depend on the root.
/// Gather and scatter move all blocks of a branch as one run, through scratch on the way.
///
///     scatter, n = 4, root 1; per rank the blocks 0 | 1 | 2 | 3, * where it has them, [scratch]
///
///                    rank 0           rank 1           rank 2                      rank 3
///     start          . | . | . | .    * | * | * | *    . | . | . | .  [. .]        . | . | . | .
///     step 1         . | . | . | .    * | * | * | *    . | . | . | .  [* *]        . | . | . | .
///     step 2         * | . | . | .    * | * | * | *    . | . | * | .  [* *]        . | . | . | *
///
/// Steps: ceil(log2 n); all_reduce 2 ceil(log2 n).
/// Bytes sent by rank 0 of all_reduce: ceil(log2 n) S, and as many received; by the root of
/// broadcast as many at most (reduce: received by it); by that of scatter S (n-1)/n, S being all
/// blocks together (gather: received by it).
/// Additions: a balanced tree in rank order, the same for every element.
/// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in
/// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005) 49-66.
#include <algorithm>

#include "ringside/collectives/algorithms/builtin.hpp"
#include "ringside/collectives/algorithms/rank_tree.hpp"
#include "ringside/collectives/algorithms/rooted.hpp"

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

OpStream broadcast(Group g, int root) {
  for (const Branch& branch : rank_tree(g.ranks(), root))
    co_yield g.push(branch.parent, branch.child, 0);
  if (!g.in_place()) co_yield g.copy(root, root, 0);
}

OpStream reduce(Group g, int root) {
  const auto branches = rank_tree(g.ranks(), root);
  for (auto branch = branches.rbegin(); branch != branches.rend(); ++branch) {
    const auto [lower, upper] = std::minmax(branch->parent, branch->child);
    co_yield g.combine(branch->parent, lower, upper, 0);
  }
}

OpStream scatter(Group g, int root) {
  for (const Branch& branch : rank_tree(g.ranks(), root))
    co_yield g.push(branch.parent, branch.child, branch.first, branch.count);
  for (int rank = 0; rank < g.ranks(); ++rank)
    if (const Buffer at = g.cur(rank, rank).buffer;
        at == Buffer::scratch || (at == Buffer::input && !g.in_place()))
      co_yield g.copy(rank, rank, rank);
}

OpStream gather(Group g, int root) {
  const auto branches = rank_tree(g.ranks(), root);
  // Where a rank collects its branch: a lone block lies there already, the root's in its output.
  std::vector<int> slots(static_cast<std::size_t>(g.ranks()), -1);
  const auto collected = [&](int rank, int block) {
    const int slot = slots[static_cast<std::size_t>(rank)];
    if (rank == root) return g.output(rank, block);
    return slot < 0 ? g.input(rank, block) : g.scratch(rank, slot, block);
  };
  for (const Branch& branch : branches)
    if (branch.count > 1)
      slots[static_cast<std::size_t>(branch.child)] =
          g.new_slot(branch.child, branch.first, branch.count);
  for (int rank = 0; rank < g.ranks(); ++rank)
    if (const Location own = collected(rank, rank);
        own.buffer == Buffer::scratch || (rank == root && !g.in_place()))
      co_yield g.store(rank, g.input(rank, rank), own);
  for (auto branch = branches.rbegin(); branch != branches.rend(); ++branch)
    co_yield g.store(branch->parent, collected(branch->child, branch->first),
                     collected(branch->parent, branch->first), branch->count);
}

}  // namespace

AlgorithmInfo binomial() {
  return {.name = "binomial",
          .summary = "a tree of doubling distances, to the root and back; few steps, a busy root",
          .reference = "Thakur, Rabenseifner and Gropp 2005",
          .collectives = {Collective::all_reduce, Collective::broadcast, Collective::reduce,
                          Collective::gather, Collective::scatter},
          .make = [](const Request& request, const Parameters&) {
            if (request.collective != Collective::all_reduce)
              return rooted_algorithm(request, {broadcast, reduce, gather, scatter});
            return Algorithm::of_halves(1, 2,
                                        {.owner = [](int) { return 0; },
                                         .reduce = gather_up,
                                         .spread = [](Group g) { return hand_out(g.on_lane(1)); }});
          }};
}

}  // namespace ringside
