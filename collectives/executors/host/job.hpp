// SPDX-License-Identifier: MIT
/// What the ranks that were started together have in common beyond a communicator: who has ended,
/// and how many threads compete for the cores.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/collectives/executors/host/waiting.hpp"
#include "ringside/collectives/selector/tuning.hpp"

namespace ringside::host {

class Shared;

/// The ranks of one World::run and all the communicators that they have. Thread-safe.
class Job {
 public:
  /// Throws Error for an option `tuning` that names no usable table.
  explicit Job(int ranks);

  /// A communicator that is to learn when ranks end; those that have ended already it learns now.
  void add(const std::shared_ptr<Shared>& communicator);

  /// A rank of the job has ended, with an error or without: it is gone in all communicators that it
  /// belongs to, and those fail if there is an error.
  void ended(int rank, const std::optional<Error>& why);

  /// What `auto` looks up, and for how many cores: the same for all ranks, or they would choose
  /// differently.
  [[nodiscard]] const TuningTable& tuning() const { return *tuning_; }
  [[nodiscard]] int cores() const { return cores_; }
  /// The longest input, in bytes, that travels in an entry: whether a call's entries hold messages
  /// or addresses must be the same for all ranks, whenever they look.
  [[nodiscard]] std::size_t most_inline() const { return most_inline_; }
  /// Whether calls are made with checksums: then none travels in the entries.
  [[nodiscard]] bool checksum() const { return checksum_; }

  /// So many threads more (or fewer) want a core: communication threads that have work. One
  /// without work sleeps and is not counted.
  void count_threads(int more) { threads_.fetch_add(more, std::memory_order_relaxed); }

  /// Sets how long to poll before yielding: long as long as every thread can have a core.
  void adapt(WaitPolicy& policy) const {
    const bool crowded = threads_.load(std::memory_order_relaxed) > cores_;
    if (crowded == policy.crowded) return;
    const WaitPolicy& right = crowded ? crowded_ : with_a_core_each_;
    policy.spins = right.spins;
    policy.entry_spins = right.entry_spins;
    policy.crowded = right.crowded;
  }

 private:
  struct Rank {
    bool ended = false;
    std::optional<Error> why;
  };
  static void tell(Shared& communicator, int rank, const std::optional<Error>& why);

  std::atomic<int> threads_;
  int cores_;
  bool checksum_;
  std::size_t most_inline_;
  std::shared_ptr<const TuningTable> tuning_;
  WaitPolicy with_a_core_each_, crowded_;
  std::mutex mutex_;
  std::vector<Rank> ranks_;
  std::vector<std::weak_ptr<Shared>> communicators_;
};

}  // namespace ringside::host
