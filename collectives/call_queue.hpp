// SPDX-License-Identifier: MIT
/// The asynchronous calls of one rank on one communicator, and the thread that runs them.
#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/collectives/call.hpp"
#include "ringside/collectives/handle_state.hpp"
#include "ringside/collectives/message_schedule.hpp"

namespace ringside {

/// Runs calls in the order in which they were pushed. Messages that follow one another go on side
/// by side, so that none waits for another of them, unless they touch the same memory: then the
/// later one waits, as order demands, and with it only those of its peer and direction.
///
/// The thread starts with the first call, and sleeps while there is none. `push`, `run_here` and
/// `drain` are called by one thread at a time, the communicator's.
///
/// Where only one thread may make calls (Implementation::runs_where_awaited) there is no other: the
/// queue is *driven*, by that thread, whenever it waits or tests. It drives all its queues then, so
/// that ranks may wait for calls on several communicators in different orders.
class CallQueue {
 public:
  using State = std::shared_ptr<Handle::State>;

  explicit CallQueue(Communicator::Implementation& implementation)
      : implementation_(implementation), messages_(implementation.rank()) {}
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;
  /// Returns when all calls are over.
  ~CallQueue();

  /// Throws Error(io), with nothing pushed, if there is no thread to be had.
  void push(std::span<const State> calls);

  /// Runs the calls on this thread, where they need not wait for others; false if they would.
  [[nodiscard]] bool run_here(std::span<const State> calls);

  [[nodiscard]] int rank() const { return implementation_.rank(); }
  [[nodiscard]] bool idle() const { return outstanding_.load(std::memory_order_acquire) == 0; }

  /// Returns when all calls are over.
  void drain() {
    if (!idle()) await_idle();
  }

  /// Whether this thread drives calls, with which blocking ones have to take turns.
  [[nodiscard]] static bool has_company();
  /// Moves on all that this thread drives, without waiting; nothing on other threads.
  void poll();
  /// The same until `over()`. False at once where the calling thread drives nothing.
  bool drive_until(const std::function<bool()>& over);

 private:
  void advance();
  /// Begins the next call; false if there is none.
  bool begin_next();
  void settle_running(std::exception_ptr error);
  void start_thread();
  void serve();
  void await_idle();
  /// Whether there is a call to run; not if the queue ends.
  bool sleep_until_called();
  /// Whether the thread is to be woken.
  [[nodiscard]] bool append(std::span<const State> calls);
  /// Runs all calls that there are.
  void work();
  /// Takes the messages at the front of the queue.
  void take_messages();
  /// Hands over those that may begin.
  void begin_messages();
  /// Finishes those that are over. Not before the implementation has returned: once no call is
  /// outstanding, the communicator's thread may make calls of its own.
  void settle_messages();
  [[nodiscard]] State take_front();
  void run(const State& call);
  void finish(const State& call, std::exception_ptr error);

  Communicator::Implementation& implementation_;
  bool is_driven_ = false;  // from the first call that is pushed on
  std::atomic<int> outstanding_{0};

  std::mutex mutex_;
  std::deque<State> calls_;  // not begun
  bool asleep_ = false;
  bool ends_ = false;
  /// Changes whenever the thread, if it sleeps, has to look again.
  std::atomic<int> calls_to_thread_{0};
  /// Whether the first call is a message, which may join those under way.
  std::atomic<bool> message_comes_{false};

  struct Over {
    MessageSchedule::Number number;
    State call;
    std::exception_ptr error;
  };

  // Of whoever works:
  MessageSchedule messages_;
  std::vector<Over> over_;  // yet to be finished

  State running_;  // of a driven queue: the call that was begun
  Stopwatch running_since_;

  std::thread thread_;
};

}  // namespace ringside
