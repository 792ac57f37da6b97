// SPDX-License-Identifier: MIT
/// Ranks that stand by for jobs.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "ringside/collectives/world.hpp"

namespace ringside::bench {

/// The ranks of a World, kept alive between jobs. While there is none they sleep, so
/// that they take no core from another program that is measured in turn.
class Team {
 public:
  using Job = std::function<void(Communicator&)>;

  /// `pinned`: rank r stays on the core number r mod (allowed cores).
  explicit Team(World of_ranks, bool pinned = false);
  /// Threads.
  explicit Team(int ranks, bool pinned = false) : Team(World::threads(ranks), pinned) {}
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] int size() const { return ranks_; }
  /// Of these, how many are of this process, and the first of them.
  [[nodiscard]] int ranks_here() const { return ranks_here_; }
  [[nodiscard]] int first_rank_here() const { return first_rank_here_; }

  /// Runs the job once per rank of this process, all at the same time, and returns when all are
  /// through. The first exception of a rank aborts the communicator, so that nobody waits for that
  /// rank, and is rethrown; the team is of no use from then on.
  void each(const Job& job);

 private:
  void stand_by(Communicator& communicator);

  int ranks_, ranks_here_, first_rank_here_;
  std::vector<int> cores_;  // empty: not pinned
  std::mutex mutex_;
  std::condition_variable begins_;
  std::condition_variable ends_;
  const Job* job_ = nullptr;
  int number_ = 0;  // of the job
  int at_work_ = 0;
  bool over_ = false;
  std::exception_ptr error_;
  std::thread host_;
};

}  // namespace ringside::bench
