// SPDX-License-Identifier: MIT
/// The host executor's protocol, one action at a time in an order that a seed decides, with a
/// happens-before check: what the executor's threads may do in any order, this does in many, and an
/// access that only luck ordered is reported in every one of them.
///
/// The programs are the executor's own (host::Program, host::fold_step); enter, ops and leave are
/// restated here, an action each. A rank's lanes are checked as if they were threads of their own:
/// that one thread polls them orders nothing that the plan needs. Every wait makes known what the
/// rank waited for had done when it came as far as the wait asks, and no more: what a thread
/// happens to know because it looked late is no order.
///
///     rank's thread   write buffers -> publish entry -> read all entries -> lanes -> leave ->
///     read, write lane            wait for progress -> fold -> make progress
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ringside/collectives/executors/host/program.hpp"
#include "ringside/collectives/plan_cache.hpp"
#include "ringside/tests/collectives/host/tried_call.hpp"

namespace ringside::tests {

/// A wait of a rank that is left out: for a peer's entry, of an op (an index in Program::waits), or
/// when it leaves.
struct LeftOut {
  enum class Kind { entry, op, leave };
  Kind kind = Kind::op;
  int rank = 0;
  std::size_t index = 0;  ///< of the peer, or of the wait
};
[[nodiscard]] std::string describe(const LeftOut& wait);

/// A call, made several times on end by all ranks, each time with other data, in the same memory.
class Interleaving {
 public:
  static constexpr int calls = 3;

  /// Keeps a reference to the call.
  explicit Interleaving(const TriedCall& call);

  /// Every wait that there is.
  [[nodiscard]] std::vector<LeftOut> waits() const;

  /// Runs it. Returns the first thing wrong: two accesses that nothing orders, memory that is not
  /// as the reference interpreter has it, or ranks that wait for each other. Empty: nothing.
  [[nodiscard]] std::string run(std::uint64_t seed,
                                const std::optional<LeftOut>& left_out = std::nullopt) const;

  [[nodiscard]] int ranks() const { return call_.request.ranks; }
  [[nodiscard]] const host::Program& program(int rank) const {
    return programs_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] const TriedCall& call() const { return call_; }
  /// All ranks' memory after a call.
  [[nodiscard]] const std::vector<std::vector<std::byte>>& expected(Round round) const {
    return expected_[static_cast<std::size_t>(round)];
  }

 private:
  const TriedCall& call_;
  std::vector<host::Program> programs_;  ///< by rank
  std::array<std::vector<std::vector<std::byte>>, rounds> expected_;
};

}  // namespace ringside::tests
