// SPDX-License-Identifier: MIT
/// A call to be tried on a host communicator: its data and memory, and what must be in that memory
/// afterwards, told twice: by the reference interpreter running the plan, and by the collective's
/// definition without any plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ringside/collectives/call.hpp"
#include "ringside/collectives/plan.hpp"

namespace ringside::tests {

/// Every call is made twice, with other data.
enum class Round : int {
  rough,  ///< sums round, so that the order of additions shows
  exact,  ///< small whole numbers, whose reductions are exact in every order
};
inline constexpr int rounds = 2;

struct TriedCall {
  Request request;
  std::string spec;
  /// One length if all blocks are equal, else one for every block.
  std::vector<std::size_t> blocks;
  ElementType type = ElementType::float32;
  ReduceOp op = ReduceOp::sum;
  /// Decides the data, the alignment, and what the ranks without a say in the placement pass.
  std::uint64_t seed = 0;

  [[nodiscard]] CallOptions options(Round round) const;
  /// Bytes of all ranks' memory together.
  [[nodiscard]] std::size_t bytes() const;
};

[[nodiscard]] std::string describe(const TriedCall& call);

/// All that a rank owns: its input and output (in place: the longer with the other in it), with
/// guard bytes around them.
class RankMemory {
 public:
  RankMemory(const TriedCall& call, int rank);

  /// Writes the round's input, and a pattern to all the rest.
  void fill(Round round);

  /// What the rank passes. A rank that has nothing to read or to write passes no buffer, or one of
  /// its own, or one buffer for both.
  [[nodiscard]] Arguments arguments();

  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
  [[nodiscard]] std::byte* input() { return bytes_.data() + input_; }
  [[nodiscard]] std::byte* output() { return bytes_.data() + output_; }

  /// Where what the memory was afterwards is not as expected, in words; nothing if it is.
  [[nodiscard]] std::string difference(const std::vector<std::byte>& after,
                                       const std::vector<std::byte>& expected) const;

 private:
  const TriedCall& call_;
  int rank_;
  std::size_t input_ = 0, output_ = 0;  // offsets of the two in bytes_
  std::size_t input_bytes_ = 0, output_bytes_ = 0;
  std::vector<std::byte> bytes_;
};

/// All ranks' memory after a round, by the reference interpreter. `plan` is of the call.
[[nodiscard]] std::vector<std::vector<std::byte>> by_reference(const TriedCall& call,
                                                               const Plan& plan, Round round);

/// Whether the definition tells the result of a round: of copies always, of reductions if exact.
[[nodiscard]] bool is_defined(const TriedCall& call, Round round);

/// All ranks' memory after a round, by the definition.
[[nodiscard]] std::vector<std::vector<std::byte>> by_definition(const TriedCall& call, Round round);

}  // namespace ringside::tests
