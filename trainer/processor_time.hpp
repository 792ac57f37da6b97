// SPDX-License-Identifier: MIT
/// Processor time, which neighbours hardly move.
#pragma once

#include <ctime>

namespace ringside::trainer {

/// Seconds; CLOCK_PROCESS_CPUTIME_ID: of all threads; CLOCK_THREAD_CPUTIME_ID: of this one.
[[nodiscard]] inline double processor_seconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace ringside::trainer
