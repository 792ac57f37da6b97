// SPDX-License-Identifier: MIT
#include "ringside/collectives/call_queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/base/threads.hpp"

namespace ringside {
namespace {

/// How long the thread looks out for the next call before it sleeps: about what waking it costs
/// (20 to 30 us, measured on a 2-core virtual machine).
constexpr Seconds awake{30e-6};

/// A thread that drives queues yields for so long, then sleeps between looks, at most so long.
constexpr Seconds driver_awake{100e-6};
constexpr Seconds longest_sleep{1e-3};

/// The queues that this thread drives, as long as they have calls.
std::vector<CallQueue*>& driven_here() {
  thread_local std::vector<CallQueue*> queues;
  return queues;
}

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
  if (!thread_.joinable() && !is_driven_) is_driven_ = implementation_.runs_where_awaited();
  if (is_driven_) {
    for (const State& call : calls) call->set_driver(this);
    (void)append(calls);
    if (auto& queues = driven_here(); std::count(queues.begin(), queues.end(), this) == 0)
      queues.push_back(this);
    return;
  }
  if (!thread_.joinable()) start_thread();
  if (!append(calls)) return;
  calls_to_thread_.notify_one();
}

bool CallQueue::run_here(std::span<const State> calls) {
  if (thread_.joinable() || has_company()) return false;
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

void CallQueue::await_idle() {
  if (is_driven_ && drive_until([this] { return idle(); })) return;
  for (int left = outstanding_.load(std::memory_order_acquire); left != 0;
       left = outstanding_.load(std::memory_order_acquire))
    outstanding_.wait(left, std::memory_order_acquire);
}

// --- the thread ----------------------------------------------------------------------------------

void CallQueue::start_thread() {
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

// --- driven --------------------------------------------------------------------------------------

bool CallQueue::has_company() { return !driven_here().empty(); }

void CallQueue::poll() {
  const auto queues = driven_here();  // what a call does may change them
  for (CallQueue* queue : queues) queue->advance();
  std::erase_if(driven_here(), [](const CallQueue* queue) { return queue->idle(); });
}

bool CallQueue::drive_until(const std::function<bool()>& over) {
  if (driven_here().empty()) return false;
  const Stopwatch since;
  while (!over()) {
    poll();
    if (over()) break;
    if (since.elapsed() < driver_awake)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::min(since.elapsed() / 16, longest_sleep));
  }
  return true;
}

void CallQueue::advance() {
  while (running_ != nullptr || begin_next()) {
    bool over = false;
    auto error = exception_of([&] { over = implementation_.advance(); });
    if (!error && !over) return;
    settle_running(std::move(error));
  }
}

bool CallQueue::begin_next() {
  for (;;) {
    take_messages();
    begin_messages();
    if (!messages_.is_empty()) {
      const bool all_over = implementation_.work_on_messages([] { return true; });
      settle_messages();
      if (!all_over && !messages_.has_ready()) return false;
    }
    if (messages_.has_ready()) continue;
    running_ = take_front();
    if (running_ == nullptr) return false;
    running_since_ = Stopwatch();
    if (running_->message() != nullptr) {
      messages_.add(std::exchange(running_, nullptr));
    } else if (auto error = exception_of([&] { implementation_.begin(running_->call()); })) {
      settle_running(std::move(error));
    } else {
      return true;
    }
  }
}

void CallQueue::settle_running(std::exception_ptr error) {
  const State call = std::exchange(running_, nullptr);
  call->set_running_time(running_since_.elapsed());
  finish(call, std::move(error));
}

// --- the work ------------------------------------------------------------------------------------

void CallQueue::work() {
  for (;;) {
    take_messages();
    begin_messages();
    if (!messages_.is_empty()) {
      implementation_.work_on_messages(
          [this] { return message_comes_.load(std::memory_order_relaxed) || !over_.empty(); });
      settle_messages();
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
      over_.push_back({number, call, std::move(error)});
    };
    implementation_.add_message(*call->message(), call->options(), std::move(over));
  }
}

void CallQueue::settle_messages() {
  for (auto& [number, call, error] : std::exchange(over_, {})) {
    messages_.end(number);
    finish(call, std::move(error));
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
