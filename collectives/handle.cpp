// SPDX-License-Identifier: MIT
#include "ringside/collectives/handle.hpp"

#include <string>
#include <thread>
#include <utility>

#include "ringside/base/clock.hpp"
#include "ringside/collectives/call_queue.hpp"
#include "ringside/collectives/handle_state.hpp"

namespace ringside {
namespace {

/// Waking a sleeper costs 20 to 30 us (measured on a 2-core virtual machine): for as long it pays
/// to stay awake. It yields, as the thread that does the work may need this very core.
constexpr Seconds awake{30e-6};

/// Shares nothing with the original: a copied exception shares its text, and who lets go last frees
/// it, on whatever thread.
Error deep_copy(const Error& error) {
  Error copy(error.code(), std::string(error.what()));
  if (error.rank()) copy.at_rank(*error.rank());
  if (error.peer()) copy.with_peer(*error.peer());
  if (error.step()) copy.at_step(*error.step());
  return copy;
}

}  // namespace

void Handle::State::await() const {
  if (is_over()) return;
  if (driver_ != nullptr && driver_->drive_until([this] { return is_over(); })) return;
  for (const Stopwatch watch; watch.elapsed() < awake;) {
    std::this_thread::yield();
    if (is_over()) return;
  }
  for (int phase = phase_.load(std::memory_order_acquire); phase != over;
       phase = phase_.load(std::memory_order_acquire))
    phase_.wait(phase, std::memory_order_acquire);
}

bool Handle::State::test() const {
  if (is_over()) return true;
  if (driver_ != nullptr && !is_noted()) driver_->poll();
  return is_over();
}

void Handle::State::throw_if_failed() const {
  if (!error_) return;
  try {
    std::rethrow_exception(error_);
  } catch (const Error& error) {
    throw deep_copy(error);
  }
}

Handle::Handle(std::shared_ptr<State> state) : state_(std::move(state)) {}

Handle& Handle::operator=(Handle&& other) noexcept {
  // What was held here goes, after the wait, with `replaced`.
  Handle replaced(std::move(other));
  std::swap(state_, replaced.state_);
  return *this;
}

Handle::~Handle() {
  if (state_ && !state_->leave_to_group()) state_->await();
}

void Handle::wait() {
  if (!state_) return;
  if (state_->is_noted())
    throw Error(ErrorCode::invalid_argument,
                "wait() for a call of a group that is still open: it has not begun");
  state_->await();
  state_->throw_if_failed();
}

bool Handle::done() const { return !state_ || state_->test(); }

Seconds Handle::running_time() const {
  return state_ && state_->is_over() ? state_->running_time() : Seconds{0};
}

}  // namespace ringside
