// SPDX-License-Identifier: MIT
/// What the communicators of a rank have in common from World::run's beginning to its end: who else
/// is to learn that the rank has ended, the choice of algorithms, how to wait.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/collectives/executors/host/waiting.hpp"
#include "ringside/collectives/executors/mpi/exchange.hpp"
#include "ringside/collectives/executors/mpi/gpu/gpus.hpp"
#include "ringside/collectives/selector/tuning.hpp"

namespace ringside::mpi {

class Job {
 public:
  /// Throws Error for an option `tuning` that names no usable table.
  Job(std::shared_ptr<Team> team, std::shared_ptr<const Gpus> gpus);

  [[nodiscard]] const std::shared_ptr<Team>& team() const { return team_; }
  [[nodiscard]] const Gpus& gpus() const { return *gpus_; }
  [[nodiscard]] const TuningTable& tuning() const { return *tuning_; }
  /// The longest message that travels in an entry, the same for all ranks.
  [[nodiscard]] std::size_t most_inline() const { return most_inline_; }
  /// Whether calls are made with checksums: then none travels in the entries.
  [[nodiscard]] bool checksum() const { return checksum_; }

  /// How long to poll before yielding: long as long as every thread can have a core. Messages
  /// between hosts move on when they are looked at, so who may wait for one yields for longer
  /// before it sleeps.
  [[nodiscard]] host::WaitPolicy policy() const;
  void count_threads(int more) { threads_.fetch_add(more, std::memory_order_relaxed); }

 private:
  std::shared_ptr<Team> team_;
  std::shared_ptr<const Gpus> gpus_;
  std::shared_ptr<const TuningTable> tuning_;
  bool checksum_;
  std::size_t most_inline_;
  int cores_;
  host::WaitPolicy with_a_core_each_, crowded_;
  std::atomic<int> threads_;
};

}  // namespace ringside::mpi
