// SPDX-License-Identifier: MIT
/// What can go wrong between ranks, times every collective, the same on every executor: each rank
/// must be told what happened and who is to blame, within the time limit, and what can go on must
/// go on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/collectives/communicator.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/collectives/host/uniform_call.hpp"

namespace ringside::tests {

/// One rank's memory for a call, where the executor's ranks have theirs.
class CallMemory {
 public:
  CallMemory(const UniformCall& call, int rank, int ranks) : host_(call, rank, ranks) {}
  CallMemory(const CallMemory&) = delete;
  CallMemory& operator=(const CallMemory&) = delete;
  virtual ~CallMemory() = default;

  /// What the rank passes.
  [[nodiscard]] virtual Arguments arguments() { return host_.arguments(); }
  /// Whether the output is what a call must have left.
  [[nodiscard]] virtual bool right() { return host_.right(); }
  /// Whether a call that was refused has written nothing.
  [[nodiscard]] virtual bool untouched() { return host_.untouched(); }

 protected:
  UniformBuffers host_;
};

/// What runs the table.
struct FaultyExecutor {
  std::string name;
  /// Of so many ranks; called once a scene.
  std::function<World(int ranks)> world;
  std::function<std::unique_ptr<CallMemory>(const UniformCall&, int rank, int ranks)> memory;
};

/// Runs every scene for every collective and adds a failure to the test for each cell that is not
/// as it must be. Returns the table, a row per fault with the cells that held and the longest time
/// from call to error, in ms above the limit; measured.
[[nodiscard]] std::string run_fault_table(const FaultyExecutor& executor);

}  // namespace ringside::tests
