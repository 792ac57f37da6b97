// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/host/waiting.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

#include "ringside/base/options.hpp"

namespace ringside::host {
namespace {

// Some hundred nanoseconds: a line from another core's cache. A pause is as long as a tenth of that
// (measured: an exchange of 8 bytes takes 0.8 of the time that it takes with a pause a poll).
constexpr int polls = 300;
// Where ranks share cores: as long as another core takes to change threads, which is what an entry
// waits for there. (Measured on 4 and 8 ranks on 2 cores: calls of 8 bytes take 0.8 of the time
// that they take with 300 polls; for ops, so many keep a core from a rank that has work.)
constexpr int entry_polls_when_crowded = 1500;
// About 50 us at 25 ns a pause (measured on a 2-core virtual machine, where waking a sleeping
// thread costs 20 to 30 us): longer than the waits inside a small collective.
constexpr int pauses_with_a_core_each = 2000;

constexpr Seconds shortest_sleep{20e-6};
constexpr Seconds longest_sleep{1e-3};
constexpr double sleep_share = 1.0 / 16;

}  // namespace

WaitPolicy WaitPolicy::for_threads(int ranks) {
  WaitPolicy policy;
  const auto spin = option<std::optional<std::int64_t>>("spin");
  policy.crowded = ranks > allowed_cpu_count();
  policy.spins = {polls, policy.crowded ? 0 : pauses_with_a_core_each};
  policy.entry_spins = policy.crowded ? Spins{entry_polls_when_crowded, 0} : policy.spins;
  if (spin)
    policy.spins =
        policy.entry_spins = {std::min(static_cast<int>(*spin), polls), static_cast<int>(*spin)};
  policy.sleep_after = option<Seconds>("sleep_after");
  policy.limit = option<Seconds>("timeout");
  return policy;
}

bool Backoff::pause() {
  if (!since_) since_.emplace();
  const Seconds waited = since_->elapsed();
  if (waited > policy_.limit) return false;
  if (waited < policy_.sleep_after) {
    sched_yield();
    return true;
  }
  std::this_thread::sleep_for(
      std::min(std::clamp(waited * sleep_share, shortest_sleep, longest_sleep),
               std::max(policy_.limit - waited, shortest_sleep)));
  return true;
}

}  // namespace ringside::host
