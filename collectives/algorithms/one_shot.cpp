// SPDX-License-Identifier: MIT
/// One-shot: every rank gets everybody's data and adds it all up by itself.
///
///     transfer=pull, in place: a digit for every rank added so far, * when complete
///
///                    rank 0   scratch   rank 1   scratch   rank 2   scratch
///     start               0         .        1         .        2         .
///     set out             0         0        1         1        2         2
///     fold                *         0        *         1        *         2
///
///     transfer=push: scratch slots for the data of each other rank
///
///                    rank 0   scratch   rank 1   scratch   rank 2   scratch
///     start               0       . .        1       . .        2       . .
///     push                0       1 2        1       0 2        2       0 1
///     fold                *       1 2        *       0 2        *       0 1
///
/// pull: one op per rank reads all n values where they lie. Values that the results will overwrite
/// (in place, or partial sums of an algorithm around this one) are first set out in scratch.
/// push: one op per rank writes its value to all others at once; each folds what has come.
///
/// Steps: 1. Bytes sent by every rank: (n-1) S, in n (n-1) transfers: for small messages.
/// Additions: in rank order in one op, so 16-bit floats are rounded once; the same bits for every
/// message size.
/// The all-reduce of small messages in GPU libraries (one-stage or one-shot kernels).
#include <array>

#include "ringside/collectives/algorithms/builtin.hpp"
#include "ringside/collectives/algorithms/running_values.hpp"

namespace ringside {
namespace {

OpStream pull_all(Group g) {
  const int n = g.ranks();
  std::vector<Location> values;
  for (int rank = 0; rank < n; ++rank) {
    values.push_back(g.cur(rank, 0));
    if (!stays(g, values.back())) {
      const Location copy = g.scratch(rank, g.new_slot(rank, 0, 1), 0);
      co_yield g.store(rank, values.back(), copy);
      values.back() = copy;
    }
  }
  std::vector<Location> result(1);
  const Group fold = g.on_lane(1);
  for (int rank = 0; rank < n; ++rank) {
    result[0] = g.output(rank, 0);
    co_yield fold.op(rank, values, result);
  }
}

OpStream push_all(Group g) {
  const int n = g.ranks();
  std::vector<std::vector<Location>> values(static_cast<std::size_t>(n));  // [at][of]
  for (int at = 0; at < n; ++at)
    for (int of = 0; of < n; ++of)
      values[static_cast<std::size_t>(at)].push_back(
          of == at ? g.cur(at, 0) : g.scratch(at, g.new_slot(at, 0, 1), 0));
  std::vector<Location> own(1), others;
  for (std::size_t of = 0; of < values.size(); ++of) {
    others.clear();
    for (std::size_t hop = 1; hop < values.size(); ++hop)  // the next rank first: nobody is first
      others.push_back(values[(of + hop) % values.size()][of]);
    own[0] = values[of][of];
    co_yield g.op(static_cast<int>(of), own, others);
  }
  const Group fold = g.on_lane(1);
  for (int rank = 0; rank < n; ++rank) {
    own[0] = g.output(rank, 0);
    co_yield fold.op(rank, values[static_cast<std::size_t>(rank)], own);
  }
}

}  // namespace

AlgorithmInfo one_shot() {
  return {
      .name = "one_shot",
      .summary = "every rank adds up everybody's data; one step, most bytes",
      .parameters = {{"transfer", "pull", "who moves the data: pull (reader) or push (writer)"}},
      .make = [](const Request&, const Parameters& parameters) {
        static constexpr std::array<std::string_view, 2> transfers = {"pull", "push"};
        const bool push = parameters.choice("transfer", transfers, "pull") == "push";
        return Algorithm{.chunks = 1, .lanes = 2, .write = push ? push_all : pull_all};
      }};
}

}  // namespace ringside
