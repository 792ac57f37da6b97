// SPDX-License-Identifier: MIT
/// How a rank waits for another: it spins unless they share a core, then yields, then sleeps.
///
/// Sleeping is by time, not by being woken: a waker would have to look for sleepers after every op,
/// which costs the fast path a full fence. A sleep lasts a sixteenth of the wait so far (at least
/// 20 us, at most 1 ms), so it adds at most that share to a long wait, and a wait over 10 ms costs
/// well under 1 % of a core.
#pragma once

#include <atomic>
#include <optional>

#include "ringside/base/clock.hpp"
#include "ringside/base/threads.hpp"

namespace ringside::host {

/// What is done before the core is given away.
struct Spins {
  int polls = 0;   ///< polls on end
  int pauses = 0;  ///< then polls with a pause each
};

struct WaitPolicy {
  Spins spins;
  Spins entry_spins;  ///< for a rank that has not entered
  /// More threads than cores: the one that is waited for may need this very core.
  bool crowded = false;
  Seconds sleep_after{100e-6};  ///< yields until then
  Seconds limit{300};

  /// By the options `spin`, `sleep_after` and `timeout`, for `ranks` threads on the allowed cores.
  [[nodiscard]] static WaitPolicy for_threads(int ranks);
};

enum class WaitResult { ready, timed_out, failed };

/// The slow part of a wait, or of several with one limit: yields or sleeps, by the time since its
/// first pause.
class Backoff {
 public:
  explicit Backoff(const WaitPolicy& policy) : policy_(policy) {}
  /// Gives the core away once. False when the limit has passed.
  bool pause();

 private:
  const WaitPolicy& policy_;
  std::optional<Stopwatch> since_;
};

/// Polls `ready()`, at least once; true as soon as it is true.
template <class Ready>
[[nodiscard]] inline bool spin_until(Ready&& ready, Spins spins) {
  for (int i = 0; i <= spins.polls; ++i)
    if (ready()) return true;
  for (int i = 0; i < spins.pauses; ++i) {
    cpu_relax();
    if (ready()) return true;
  }
  return false;
}

/// Polls `ready()`, pausing by `backoff`, until it is true, the limit passes, or `failed` is set.
template <class Ready>
WaitResult back_off_until(Ready&& ready, Backoff& backoff, const std::atomic<bool>& failed) {
  while (!ready()) {
    if (failed.load(std::memory_order_relaxed)) return WaitResult::failed;
    if (!backoff.pause()) return ready() ? WaitResult::ready : WaitResult::timed_out;
  }
  return WaitResult::ready;
}

/// The whole wait: spins, then backs off.
template <class Ready>
WaitResult wait_until(Ready&& ready, const WaitPolicy& policy, const std::atomic<bool>& failed) {
  if (spin_until(ready, policy.spins)) return WaitResult::ready;
  Backoff backoff(policy);
  return back_off_until(ready, backoff, failed);
}

}  // namespace ringside::host
