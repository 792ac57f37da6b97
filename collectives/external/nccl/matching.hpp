// SPDX-License-Identifier: MIT
/// Which message meets which: sends and receives find each other on the host before either is given
/// to NCCL, which would block the sender until its peer comes, without any limit.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/base/error.hpp"
#include "ringside/collectives/call.hpp"

namespace ringside::nccl {

/// One end of a transfer, as its rank follows it.
struct Transfer {
  Message message;
  CallOptions options;
  Communicator::Implementation::Over over;
  Seconds limit{0};
  Stopwatch since = {};
  std::optional<Error> mismatch = std::nullopt;  ///< set by whoever comes second
};

/// Thread-safe. All ends that meet get in the same order into the lists of both their ranks, so two
/// ranks never wait for each other's later message.
class Matching {
 public:
  using End = std::shared_ptr<Transfer>;

  explicit Matching(int ranks) : met_(static_cast<std::size_t>(ranks)) {}

  /// Offers ends of a rank, in the order of its calls. Those of one call meet at once or not at
  /// all, as far as their peers are there: an exchange is not torn apart.
  void offer(int rank, const std::vector<End>& ends);

  /// The rank's ends that have met their others since the last time, in the order common to all.
  [[nodiscard]] std::vector<End> take(int rank);
  /// Whether `take` would find any.
  [[nodiscard]] bool has_met(int rank) const {
    return met_[static_cast<std::size_t>(rank)].any.load(std::memory_order_acquire);
  }

  /// Takes back what the rank has offered and nobody has met.
  void withdraw(int rank);

 private:
  /// Of a pair (from, to): one of the two is empty.
  struct Pair {
    std::deque<End> sends, receives;
  };
  struct Met {
    std::vector<End> ends;
    std::atomic<bool> any{false};
  };
  void meet(int from, int to, const End& send, const End& receive);
  void hand_over(int rank, const End& end);

  std::mutex mutex_;
  std::map<std::pair<int, int>, Pair> pairs_;
  std::vector<Met> met_;
};

}  // namespace ringside::nccl
