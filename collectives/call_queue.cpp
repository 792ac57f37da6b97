// SPDX-License-Identifier: MIT
#include "ringside/collectives/call_queue.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "ringside/base/clock.hpp"
#include "ringside/base/threads.hpp"

namespace ringside {
namespace {

/// How long the thread looks out for the next call before it sleeps: about what waking it costs
/// (20 to 30 us, measured on a 2-core virtual machine).
constexpr Seconds awake{30e-6};

}  // namespace

CallQueue::~CallQueue() {
  drain();
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    calls_to_thread_.fetch_add(1, std::memory_order_relaxed);
  }
  calls_to_thread_.notify_one();
  thread_.join();
}

void CallQueue::push(std::span<const State> calls) {
  if (!thread_.joinable()) start_thread();
  if (!append(calls)) return;
  calls_to_thread_.notify_one();
}

bool CallQueue::run_here(std::span<const State> calls) {
  if (thread_.joinable()) return false;
  (void)append(calls);
  work();
  return true;
}

bool CallQueue::append(std::span<const State> calls) {
  const std::lock_guard lock(mutex_);
  calls_.insert(calls_.end(), calls.begin(), calls.end());
  outstanding_.fetch_add(static_cast<int>(calls.size()), std::memory_order_relaxed);
  message_comes_.store(!calls_.empty() && calls_.front()->message() != nullptr,
                       std::memory_order_relaxed);
  if (asleep_) calls_to_thread_.fetch_add(1, std::memory_order_relaxed);
  return std::exchange(asleep_, false);
}

void CallQueue::await_idle() const {
  for (int left = outstanding_.load(std::memory_order_acquire); left != 0;
       left = outstanding_.load(std::memory_order_acquire))
    outstanding_.wait(left, std::memory_order_acquire);
}

// --- the thread ----------------------------------------------------------------------------------

void CallQueue::start_thread() {
  implementation_.check_threads();
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::io,
                fmt::format("cannot start a communication thread: {}", error.what()));
  }
}

void CallQueue::serve() {
  name_current_thread(fmt::format("rank {} async", implementation_.rank()));
  implementation_.begin_thread();
  while (sleep_until_called()) {
    implementation_.count_threads(1);
    work();
    for (const Stopwatch watch; watch.elapsed() < awake && idle();) std::this_thread::yield();
    implementation_.count_threads(-1);
  }
}

bool CallQueue::sleep_until_called() {
  for (;;) {
    int seen = 0;
    {
      const std::lock_guard lock(mutex_);
      if (!calls_.empty()) return true;
      if (ends_) return false;
      asleep_ = true;
      seen = calls_to_thread_.load(std::memory_order_relaxed);
    }
    calls_to_thread_.wait(seen, std::memory_order_relaxed);
  }
}

// --- the work ------------------------------------------------------------------------------------

void CallQueue::work() {
  for (;;) {
    take_messages();
    begin_messages();
    if (!messages_.is_empty()) {
      implementation_.work_on_messages([this] {
        return message_comes_.load(std::memory_order_relaxed) || messages_.has_ready();
      });
    } else if (State call = take_front()) {
      if (call->message() == nullptr)
        run(call);
      else
        messages_.add(std::move(call));  // came this very moment
    } else {
      return;
    }
  }
}

void CallQueue::take_messages() {
  const std::lock_guard lock(mutex_);
  message_comes_.store(false, std::memory_order_relaxed);
  for (; !calls_.empty() && calls_.front()->message() != nullptr; calls_.pop_front())
    messages_.add(std::move(calls_.front()));
}

void CallQueue::begin_messages() {
  while (messages_.has_ready()) {
    const auto [number, call] = messages_.begin_ready();
    auto over = [this, number = number, call = call](std::exception_ptr error) {
      messages_.end(number);
      finish(call, std::move(error));
    };
    implementation_.add_message(*call->message(), call->options(), std::move(over));
  }
}

CallQueue::State CallQueue::take_front() {
  const std::lock_guard lock(mutex_);
  if (calls_.empty()) return nullptr;
  State call = std::move(calls_.front());
  calls_.pop_front();
  return call;
}

void CallQueue::run(const State& call) {
  const Stopwatch watch;
  auto error = exception_of([&] { implementation_.run(call->call()); });
  call->set_running_time(watch.elapsed());
  finish(call, std::move(error));
}

void CallQueue::finish(const State& call, std::exception_ptr error) {
  call->finish(std::move(error));
  outstanding_.fetch_sub(1, std::memory_order_release);
  outstanding_.notify_all();
}

}  // namespace ringside
