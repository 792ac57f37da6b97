// SPDX-License-Identifier: MIT
#include "ringside/trainer/computing.hpp"

#include "ringside/base/error.hpp"
#include "ringside/trainer/processor_time.hpp"

namespace ringside::trainer {

Computing::Scope::Scope(Computing& computing, Part part) : computing_(computing), part_(part) {
  computing_.thread_ = std::this_thread::get_id();
  computing_.waited_ = Seconds{0};
  computing_.resume();
}

Computing::Scope::~Scope() {
  computing_.pause();
  computing_.thread_ = {};
  computing_.times_.add(part_, watch_.elapsed() - computing_.waited_);
}

void Computing::pause() {
  // Another thread's time is not this rank's alone.
  if (factor_ <= 1 || std::this_thread::get_id() != thread_) return;
  const double used = processor_seconds(CLOCK_THREAD_CPUTIME_ID);
  debt_ += Seconds((factor_ - 1) * (used - processor_seconds_));
  processor_seconds_ = used;
  constexpr Seconds shortest{1e-4};  // a sleep is not exact: no many short ones
  if (debt_ < shortest) return;
  const Stopwatch watch;
  std::this_thread::sleep_for(debt_);
  debt_ -= watch.elapsed();  // what was too long is taken off the next
}

void Computing::resume() {
  if (factor_ > 1) processor_seconds_ = processor_seconds(CLOCK_THREAD_CPUTIME_ID);
}

void Computing::check_thread() const {
  if (std::this_thread::get_id() == thread_) return;
  throw Error(ErrorCode::unsupported,
              "the model computes gradients on another thread than the rank's own, which ranks "
              "may share: a collective that is waited for there could wait for itself; ranks that "
              "are processes (--backend mpi) share none");
}

}  // namespace ringside::trainer
