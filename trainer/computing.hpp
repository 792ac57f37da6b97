// SPDX-License-Identifier: MIT
/// A rank at work: which part its time belongs to, and how it is made slower than it could be.
#pragma once

#include <thread>
#include <utility>

#include "ringside/base/clock.hpp"
#include "ringside/trainer/step_times.hpp"

namespace ringside::trainer {

/// Times what a rank computes. Collectives in the middle of it count as exposed, not as computing.
/// A rank that is slowed sleeps for (factor - 1) times the processor time of its thread: what
/// waits for it waits as for a slower device, and a core is free meanwhile.
class Computing {
 public:
  explicit Computing(StepTimes& times) : times_(times) {}

  void slow_down(double factor) { factor_ = factor; }

  /// Computes, and returns what `body` returns.
  template <class Body>
  decltype(auto) run(Part part, Body&& body) {
    const Scope scope(*this, part);
    return body();
  }

  /// Within `run`: something else than computing begins, and ends. No waiting for other ranks.
  void pause();
  void resume();

  /// Within `run`: `body` waits for other ranks. Throws Error(unsupported) on another thread than
  /// that of `run`: libraries for GPUs compute gradients on a thread per device, and where ranks
  /// share it, who waits there waits for a rank that cannot go on.
  template <class Body>
  void interrupt(Body&& body) {
    check_thread();
    pause();
    const Stopwatch watch;
    body();
    const Seconds waited = watch.elapsed();
    times_.add(Part::exposed, waited);
    waited_ += waited;
    resume();
  }

 private:
  class Scope {
   public:
    Scope(Computing& computing, Part part);
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

   private:
    Computing& computing_;
    Part part_;
    Stopwatch watch_;
  };

  void check_thread() const;

  StepTimes& times_;
  double factor_ = 1;
  std::thread::id thread_;        ///< of the `run` under way
  Seconds waited_{0};             ///< in its interruptions
  double processor_seconds_ = 0;  ///< when computing began or went on
  Seconds debt_{0};               ///< that it is to sleep for
};

}  // namespace ringside::trainer
