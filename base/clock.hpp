// SPDX-License-Identifier: MIT
/// Time for limits and measurements: monotonic, in seconds.
#pragma once

#include <chrono>
#include <utility>

namespace ringside {

/// A length of time. Its own type, so that a number of microseconds cannot pass for one of seconds.
using Seconds = std::chrono::duration<double>;

/// The clock that limits and measurements use: never set back, not affected by the wall clock.
using Clock = std::chrono::steady_clock;

/// Monotonic seconds since an arbitrary start (the machine's); only differences mean something.
[[nodiscard]] inline Seconds now() { return Clock::now().time_since_epoch(); }

/// Measures from its construction, or from the last `restart()`.
class Stopwatch {
 public:
  /// Since then; does not stop it.
  [[nodiscard]] Seconds elapsed() const { return Clock::now() - start_; }

  /// Starts again; returns what had elapsed.
  Seconds restart() {
    const auto stop = Clock::now();
    return stop - std::exchange(start_, stop);
  }

 private:
  Clock::time_point start_ = Clock::now();
};

}  // namespace ringside
