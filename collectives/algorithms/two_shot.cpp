// SPDX-License-Identifier: MIT
/// Two-shot: chunk c belongs to rank c, which adds up everybody's part of it and hands out the sum.
///
///     n = 3; per rank the chunks 0 | 1 | 2, a digit for every rank added so far, * when complete
///
///                    rank 0           rank 1           rank 2
///     start           0 |  0 |  0      1 |  1 |  1      2 |  2 |  2
///     reduce          * |  0 |  0      1 |  * |  1      2 |  2 |  *
///     spread          * |  * |  *      * |  * |  *      * |  * |  *
///
/// transfer=fused  one op per rank reads chunk c of all and stores the sum to all: no value rests
///                 in between, and nobody else touches chunk c, so in place needs no scratch.
/// transfer=push   no remote reads: contributions are pushed to scratch at the owner, who folds
///                 them and pushes the sum to all.
/// transfer=pull   no remote writes: the owner folds into its output, from which the others copy.
///
/// Steps: fused 2; push and pull n, because a rank's n-1 pushes (pull: its n-1 copies) are of
/// different chunks and leave its queue one after another.
/// Bytes sent by every rank: 2 S (n-1)/n, to all others evenly.
/// Additions: in rank order in one op for every element, so 16-bit floats are rounded once; the
/// same bits for every message size.
/// The direct form of reduce-scatter and all-gather; GPU libraries' two-stage or two-shot kernels.
#include <array>

#include "ringside/collectives/algorithms/builtin.hpp"

namespace ringside {
namespace {

/// The running values (or the outputs) of all ranks for a chunk, in rank order.
void list_values(const Group& g, int chunk, std::vector<Location>& values) {
  values.clear();
  for (int rank = 0; rank < g.ranks(); ++rank) values.push_back(g.cur(rank, chunk));
}
void list_outputs(const Group& g, int chunk, std::vector<Location>& outputs) {
  outputs.clear();
  for (int rank = 0; rank < g.ranks(); ++rank) outputs.push_back(g.output(rank, chunk));
}

OpStream fused(Group g) {
  std::vector<Location> values, outputs;
  for (int owner = 0; owner < g.ranks(); ++owner) {
    list_values(g, owner, values);
    list_outputs(g, owner, outputs);
    co_yield g.op(owner, values, outputs);
  }
}

OpStream pull_reduce(Group g) {
  std::vector<Location> values, result(1);
  for (int owner = 0; owner < g.ranks(); ++owner) {
    list_values(g, owner, values);
    result[0] = g.output(owner, owner);
    co_yield g.op(owner, values, result);
  }
}

OpStream pull_spread(Group g) {
  const int n = g.ranks();
  for (int hop = 1; hop < n; ++hop)  // staggered: in each round everybody is read by one
    for (int rank = 0; rank < n; ++rank) co_yield g.copy((rank + hop) % n, rank, (rank + hop) % n);
}

OpStream push_spread(Group g) {
  const int n = g.ranks();
  std::vector<Location> sum(1), others;
  for (int owner = 0; owner < n; ++owner) {
    sum[0] = g.cur(owner, owner);
    others.clear();
    for (int hop = 1; hop < n; ++hop) others.push_back(g.output((owner + hop) % n, owner));
    co_yield g.op(owner, sum, others);
  }
}

/// Contributions to scratch at the owners, then the folds: to the owner's output, or to everyone's.
OpStream push_reduce(Group g, bool to_all) {
  const int n = g.ranks();
  std::vector<std::vector<Location>> values(static_cast<std::size_t>(n));  // [owner][of]
  for (int owner = 0; owner < n; ++owner)
    for (int of = 0; of < n; ++of)
      values[static_cast<std::size_t>(owner)].push_back(
          of == owner ? g.cur(of, owner) : g.scratch(owner, g.new_slot(owner, owner, 1), owner));
  for (int hop = 1; hop < n; ++hop)  // staggered: in each round everybody is written to by one
    for (int rank = 0; rank < n; ++rank) {
      const int owner = (rank + hop) % n;
      co_yield g.store(rank, g.cur(rank, owner),
                       values[static_cast<std::size_t>(owner)][static_cast<std::size_t>(rank)]);
    }
  const Group fold = to_all ? g.on_lane(1) : g;
  std::vector<Location> results(1);
  for (int owner = 0; owner < n; ++owner) {
    if (to_all)
      list_outputs(g, owner, results);
    else
      results[0] = g.output(owner, owner);
    co_yield fold.op(owner, values[static_cast<std::size_t>(owner)], results);
  }
}

}  // namespace

AlgorithmInfo two_shot() {
  return {
      .name = "two_shot",
      .summary = "each rank adds up one chunk of everybody's and hands it out; two steps",
      .parameters = {{"transfer", "fused",
                      "fused (one op reads from all and writes to all), push (no remote reads) or "
                      "pull (no remote writes)"}},
      .make = [](const Request& request, const Parameters& parameters) {
        static constexpr std::array<std::string_view, 3> transfers = {"fused", "push", "pull"};
        const auto transfer = parameters.choice("transfer", transfers, "fused");
        const auto owner = [](int chunk) { return chunk; };
        const auto push = [](Group g) { return push_spread(g.on_lane(1)); };
        if (transfer == "pull")
          return Algorithm::of_halves(request.ranks, 2, {owner, pull_reduce, [](Group g) {
                                                           return pull_spread(g.on_lane(1));
                                                         }});
        if (transfer == "push")
          return Algorithm{
              .chunks = request.ranks,
              .lanes = 2,
              .write = [](Group g) { return push_reduce(std::move(g), true); },
              .halves =
                  Halves{owner, [](Group g) { return push_reduce(std::move(g), false); }, push}};
        return Algorithm{.chunks = request.ranks,
                         .lanes = 1,
                         .write = fused,
                         .halves = Halves{owner, pull_reduce, push}};
      }};
}

}  // namespace ringside
