// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/mpi/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace ringside::mpi {
namespace {

constexpr Seconds between_looks{5e-3};
constexpr int looks_at_notices = 20;
constexpr Seconds longest_grace{0.5};
constexpr Seconds between_polls{1e-3};

}  // namespace

void Watch::look() {
  const Seconds time = now();
  if (time < next_look_) return;
  next_look_ = time + between_looks;
  // An MPI does not look at its connections at every call.
  for (int i = 0; i < looks_at_notices; ++i) exchange_.read_notices();
  if (board_.failure().claimed.load(std::memory_order_relaxed)) return;
  const Team& team = board_.team();
  for (const int rank : board_.near()) {
    if (!team.has_died(board_.member(rank)) || has_gone(rank)) continue;
    const Error cause =
        Error(ErrorCode::aborted, fmt::format("{} has died", team.describe(board_.member(rank))))
            .at_rank(board_.rank())
            .with_peer(rank);
    if (board_.failure().store(cause)) exchange_.send_failure(cause);
    return;
  }
}

std::optional<Error> Watch::stopped_rank(const Error& error) const {
  const Team& team = board_.team();
  for (const int rank : board_.near())
    if (team.is_stopped(board_.member(rank)))
      return Error(error.code(), fmt::format("{} is stopped: {}",
                                             team.describe(board_.member(rank)), error.what()))
          .at_rank(board_.rank())
          .with_peer(rank);
  return std::nullopt;
}

bool Watch::wait_for_failure(Seconds longest, int asked) {
  const Stopwatch since;
  while (since.elapsed() < longest) {
    exchange_.read_notices();
    if (board_.failure().set.load(std::memory_order_acquire)) return true;
    if (asked >= 0 && exchange_.has_answered(asked)) return false;
    std::this_thread::sleep_for(between_polls);
  }
  return false;
}

Error Watch::blame(const Error& error, int peer, std::uint64_t call, Seconds limit) {
  if (auto stopped = stopped_rank(error)) return *stopped;
  // A rank of another host that does not answer has this long; who waits for one that waits for
  // such a rank has longer.
  const Seconds grace = std::min(longest_grace, std::max(limit / 4, 20 * between_polls));
  const Seconds longer = 4 * grace;
  bool failed = false;
  if (board_.is_near(peer)) {
    const bool waits = board_.entry(peer, call).call.load(std::memory_order_acquire) == call;
    failed = waits && wait_for_failure(longer, -1);
  } else {
    exchange_.ask(peer);
    failed = wait_for_failure(grace, peer) ||
             (exchange_.has_answered(peer) && wait_for_failure(longer, -1));
  }
  return failed ? board_.failure().cause() : error;
}

}  // namespace ringside::mpi
