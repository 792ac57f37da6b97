// SPDX-License-Identifier: MIT
/// Calls of ranks that are processes, compared with the reference interpreter: what the tests of
/// memory of the host and of GPUs share.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "ringside/collectives/world.hpp"
#include "ringside/tests/collectives/host/tried_call.hpp"

namespace ringside::tests {

/// Memory that a rank's call is made from, in place of the tried call's own.
struct CallMemory {
  std::byte* data = nullptr;  ///< null: the call's own
  std::shared_ptr<void> owner;
  /// Between this memory and the host's; complete when it returns.
  std::function<void(std::byte* to, const std::byte* from, std::size_t bytes)> copy;
};

/// For a call and so many bytes.
using MemoryFor =
    std::function<CallMemory(Communicator& comm, const TriedCall& call, std::size_t bytes)>;

/// Makes all calls in the world of all processes, each twice; fails where bytes differ from those
/// of the reference interpreter.
void run_calls(World& world, const std::vector<TriedCall>& calls, const MemoryFor& memory_for);

/// Every `share`-th call of every algorithm, of all ranks; lengths, types and operators take turns,
/// and so do slices and lanes if it is `cut`.
[[nodiscard]] std::vector<TriedCall> some_calls(std::size_t share, bool cut);

}  // namespace ringside::tests
