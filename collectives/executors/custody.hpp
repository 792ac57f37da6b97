// SPDX-License-Identifier: MIT
/// Whose bytes a location of a plan holds, at every op: for checksums from end to end.
///
/// A *value* is the bytes of one chunk as a rank made them: its input, what an op of it folded, or
/// a message it received. Who makes a value sums it. Copies change no bits, so what a copy stores
/// is still the same value, however many ranks it passes, and is compared with the sum of the rank
/// that made it. Which value a location holds follows from the list of ops; nothing is carried
/// along at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/collectives/dependencies.hpp"
#include "ringside/collectives/plan.hpp"
#include "ringside/collectives/reduction/fold.hpp"

namespace ringside {

/// The how-manieth of those that a rank makes; the first are the chunks of its input, in order.
struct Value {
  int rank = -1;
  std::uint32_t number = 0;
  bool operator==(const Value&) const = default;
};

/// What an op does with bytes, seen from the rank that executes it.
enum class Part : std::uint8_t {
  fold,  ///< makes a value of others
  land,  ///< copies, or receives, to memory of its own
  send   ///< copies to a peer's
};

class Custody {
 public:
  /// Of a well-formed plan that reads nothing unwritten. Of `values` only type, operator, scalar
  /// and ranks are looked at. Throws Error(unsupported) for more values than can be numbered.
  Custody(const Plan& plan, const Schedule& schedule, const FoldShape& values);

  [[nodiscard]] Part part(std::size_t op) const { return parts_[op]; }
  /// What an op finds in a source, for the `offset`-th of its chunks.
  [[nodiscard]] Value source(std::size_t op, std::size_t source, int offset) const {
    return at(op, source, offset);
  }
  /// What it stores.
  [[nodiscard]] Value result(std::size_t op, int offset) const {
    return at(op, sources_[op], offset);
  }
  /// What a chunk of a rank's input is.
  [[nodiscard]] Value input(const Location& location) const;
  /// What a location holds when all is done; rank -1: nothing.
  [[nodiscard]] Value last(const Location& location) const { return held_[cells_.at(location)]; }
  /// How many a rank makes.
  [[nodiscard]] std::uint32_t made_by(int rank) const {
    return made_[static_cast<std::size_t>(rank)];
  }

 private:
  [[nodiscard]] Value at(std::size_t op, std::size_t which, int offset) const {
    return of_ops_[first_[op] + which * counts_[op] + static_cast<std::size_t>(offset)];
  }
  Value make(int rank);

  Request request_;
  Shape shape_;
  Cells cells_;
  std::vector<Part> parts_;                            // by op
  std::vector<std::size_t> first_, sources_, counts_;  // by op
  std::vector<Value> of_ops_;                          // sources, then the result; chunk by chunk
  std::vector<Value> held_;                            // by cell
  std::vector<std::uint32_t> made_;                    // by rank
};

/// Calls `use(location)` for every chunk of a rank's input or output, in order.
void for_each_chunk(const Plan& plan, int rank, Buffer buffer,
                    const std::function<void(const Location&)>& use);

/// The error of a rank that finds bytes at `at` that are not those of the value that is to be
/// there: Error(corrupted), which names collective, algorithm, the op that noticed (the plan's
/// size: none, the call is at its end), the one that stored the bytes, and the peer that they come
/// from.
[[nodiscard]] Error corrupted_chunk(const Plan& plan, std::size_t op, const Location& at, int rank,
                                    std::uint64_t call);

}  // namespace ringside
