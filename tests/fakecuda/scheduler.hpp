// SPDX-License-Identifier: MIT
/// Owns the order of operations: any order that streams and events allow is one that a machine may
/// take, and the policy chooses.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "ringside/tests/fakecuda/operation.hpp"

namespace ringside::tests::fakecuda {

enum class Policy {
  eager,   ///< an operation runs as soon as it can
  lazy,    ///< nothing runs until the host waits; then the oldest lane goes as far as it can
  random,  ///< any lane, any time
  pct,     ///< lanes and host have priorities that change now and then
};

class Scheduler {
 public:
  using Lock = std::unique_lock<std::mutex>;
  /// Performs an operation. It may release the lock while it runs a host function.
  using Perform = std::function<void(Lane&, const Operation&, Lock&)>;

  explicit Scheduler(Perform perform) : perform_(std::move(perform)) {}

  /// eager, lazy, random:SEED, pct:SEED. Throws std::invalid_argument.
  void reset(const std::string& policy);
  void add_lane(Lane& lane);
  void enqueue(Lane& lane, Operation operation);

  /// A call of the host: the devices may get some work done meanwhile.
  void let_run(Lock& lock);
  /// Runs one operation, if one can run.
  bool step(Lock& lock);

  template <class Visit>
  void for_each_pending(Visit&& visit) const {
    for (const Lane* lane : active_)
      for (std::size_t i = lane->head; i < lane->queue.size(); ++i) visit(*lane, lane->queue[i]);
  }
  /// Operations that hang run after all, with the given error instead of their work.
  void release_hangs(cudaError_t fault);

 private:
  [[nodiscard]] Lane* choose();
  [[nodiscard]] std::uint64_t random();
  void run(Lane& lane, Lock& lock);

  Perform perform_;
  Policy policy_ = Policy::eager;
  std::uint64_t state_ = 1;
  std::uint64_t host_priority_ = 0;
  std::uint64_t lowest_ = 0;  ///< next priority to fall to
  std::uint64_t until_change_ = 0;
  std::vector<Lane*> active_;  ///< lanes with operations, in order of creation where none ran dry
};

}  // namespace ringside::tests::fakecuda
