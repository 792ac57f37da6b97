// SPDX-License-Identifier: MIT
/// Recursive doubling: partners at distance 1, 2, 4, ... exchange all they have and both add.
///
///     n = 4; per rank and place a digit for every rank added so far, * when complete
///
///                    rank 0   slot 0   rank 1   slot 0   rank 2   slot 0   rank 3   slot 0
///     start               0        .        1        .        2        .        3        .
///     exchange 1          0       01        1       01        2       23        3       23
///     exchange 2          *       01        *       01        *       23        *       23
///
/// Partners read each other's value, so nobody may overwrite its value in the step in which the
/// partner reads it. The values of successive steps therefore alternate between two scratch slots,
/// and the last step stores to the output. Two are enough: what step t stores is read in step t + 1
/// only, by its owner and by its partner, and overwritten in step t + 2 at the earliest, which
/// waits for that partner's read (a derived edge from one step to the next: it lengthens nothing).
/// With a single exchange the output is read and written in the same step; then values in outputs
/// (or in place) move to a slot first.
///
/// n not a power of two: see power_of_two.hpp; one step more before, and one after.
///
/// The same as an all_gather, of a block per rank and for powers of two only (bruck does the same
/// for any n): after t exchanges every rank has the blocks of the 2^t ranks of its group.
///
///     n = 4; per rank the blocks 0 | 1 | 2 | 3, * where it has them
///
///                    rank 0           rank 1           rank 2           rank 3
///     start          * | . | . | .    . | * | . | .    . | . | * | .    . | . | . | *
///     exchange 1     * | * | . | .    * | * | . | .    . | . | * | *    . | . | * | *
///     exchange 2     * | * | * | *    * | * | * | *    * | * | * | *    * | * | * | *
///
/// Steps: log2 n. Bytes sent by every rank: S (n-1)/n.
///
/// All-reduce:
/// Steps: floor(log2 n), + 2 if n is not a power of two. Bytes sent by every rank: log2 n S (with
/// extras: one S more by who has one, log2 of the power of two within n).
/// Additions: a balanced tree, always (lower, higher), so all ranks get the same bits, for every
/// message size.
/// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in
/// MPICH, Int. J. High Perform. Comput. Appl. 19 (2005) 49-66.
#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/error.hpp"
#include "ringside/collectives/algorithms/builtin.hpp"
#include "ringside/collectives/algorithms/power_of_two.hpp"
#include "ringside/collectives/algorithms/running_values.hpp"

namespace ringside {
namespace {

/// The two places in scratch of every rank, made when first needed.
class Slots {
 public:
  explicit Slots(const Group& g) : group_(g), slots_(static_cast<std::size_t>(2 * g.ranks()), -1) {}

  [[nodiscard]] Location at(int rank, int which) {
    int& slot = slots_[static_cast<std::size_t>(2 * rank + which)];
    if (slot < 0) slot = group_.new_slot(rank, 0, 1);
    return group_.scratch(rank, slot, 0);
  }

 private:
  Group group_;
  std::vector<int> slots_;
};

OpStream exchange(Group g) {
  const PowerOfTwo core(g.ranks());
  Slots slots(g);
  std::vector<Location> values, next;  // of the members
  for (int member = 0; member < core.size; ++member) {
    const int rank = core.rank(member);
    Location value = g.cur(rank, 0);
    if (core.has_extra(member)) {
      const Location sum = slots.at(rank, 1);
      co_yield g.add(rank, value, g.cur(core.extra(member), 0), sum);
      value = sum;
    } else if (core.rounds == 1 && !stays(g, value)) {
      const Location copy = slots.at(rank, 1);
      co_yield g.store(rank, value, copy);
      value = copy;
    }
    values.push_back(value);
  }
  for (int round = 0; round < core.rounds; ++round) {
    next.clear();
    for (int member = 0; member < core.size; ++member) {
      const int partner = member ^ (1 << round);
      const int rank = core.rank(member);
      next.push_back(round + 1 == core.rounds ? g.output(rank, 0) : slots.at(rank, round % 2));
      co_yield g.add(rank, values[static_cast<std::size_t>(std::min(member, partner))],
                     values[static_cast<std::size_t>(std::max(member, partner))], next.back());
    }
    values.swap(next);
  }
  for (int member = 0; member < core.extras; ++member)
    co_yield g.copy(core.rank(member), core.extra(member), 0);
}

OpStream exchange_blocks(Group g) {
  const int n = g.ranks();
  // A run's blocks must lie in one buffer: a rank's own among the others, in the output.
  if (!g.in_place())
    for (int rank = 0; rank < n; ++rank) co_yield g.copy(rank, rank, rank);
  for (int distance = 1; distance < n; distance *= 2)
    for (int rank = 0; rank < n; ++rank) {
      const int partner = rank ^ distance;
      const int first = partner & ~(distance - 1);  // of the blocks that the partner has
      co_yield g.store(rank, g.output(partner, first), g.output(rank, first), distance);
    }
}

}  // namespace

AlgorithmInfo recursive_doubling() {
  return {.name = "recursive_doubling",
          .summary = "partners at doubling distances exchange everything; fewest steps",
          .reference = "Thakur, Rabenseifner and Gropp 2005",
          .collectives = {Collective::all_reduce, Collective::all_gather},
          .make = [](const Request& request, const Parameters&) {
            if (request.collective == Collective::all_gather) {
              if (PowerOfTwo(request.ranks).extras > 0)
                throw Error(ErrorCode::unsupported,
                            fmt::format("recursive_doubling does all_gather for powers of two "
                                        "only, not for {} ranks: bruck does it for any number",
                                        request.ranks));
              return Algorithm{.chunks = 1, .lanes = 1, .write = exchange_blocks};
            }
            return Algorithm{.chunks = 1, .lanes = 1, .write = exchange};
          }};
}

}  // namespace ringside
