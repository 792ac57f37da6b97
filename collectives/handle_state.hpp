// SPDX-License-Identifier: MIT
/// A call that is not run where it is made: a copy of what it needs, and how far it has come.
#pragma once

#include <atomic>
#include <exception>
#include <utility>
#include <variant>
#include <vector>

#include "ringside/collectives/call.hpp"
#include "ringside/collectives/handle.hpp"

namespace ringside {

class CallQueue;

class Handle::State {
 public:
  /// Copies the block lengths and the options.
  explicit State(const Call& call)
      : options_(*call.options), blocks_(call.blocks.begin(), call.blocks.end()), what_(call) {
    Call& own = std::get<Call>(what_);
    own.blocks = blocks_;
    own.options = &options_;
  }
  State(const Message& message, const CallOptions& options) : options_(options), what_(message) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  [[nodiscard]] const Call& call() const { return std::get<Call>(what_); }
  /// Null if it is a call of a collective.
  [[nodiscard]] const Message* message() const { return std::get_if<Message>(&what_); }
  [[nodiscard]] const CallOptions& options() const { return options_; }

  /// In an open group; to be said before anybody has a handle.
  void note() { phase_.store(noted, std::memory_order_relaxed); }
  /// The group has ended. Returns whether the handle was dropped meanwhile: then the group waits.
  bool begin() { return phase_.exchange(under_way, std::memory_order_relaxed) == dropped; }
  /// Whether the call is noted in an open group, which then takes over waiting for it.
  bool leave_to_group() {
    int expected = noted;
    return phase_.compare_exchange_strong(expected, dropped, std::memory_order_relaxed);
  }

  /// It runs where it is awaited, by this queue, which is there until it is over; to be said before
  /// anybody has a handle.
  void set_driver(CallQueue* queue) { driver_ = queue; }

  /// How long it ran; to be said before it finishes.
  void set_running_time(Seconds time) { running_time_ = time; }
  /// Of a call that is over.
  [[nodiscard]] Seconds running_time() const { return running_time_; }

  void finish(std::exception_ptr error) noexcept {
    error_ = std::move(error);
    phase_.store(over, std::memory_order_release);
    phase_.notify_all();
  }
  /// Whether it is over; where it runs where it is awaited, it goes on a bit.
  [[nodiscard]] bool test() const;
  [[nodiscard]] bool is_over() const { return phase_.load(std::memory_order_acquire) == over; }
  [[nodiscard]] bool is_noted() const { return phase_.load(std::memory_order_relaxed) <= dropped; }

  /// Returns when it is over. Not for a call that is only noted.
  void await() const;
  /// Of a call that is over.
  [[nodiscard]] bool failed() const { return error_ != nullptr; }
  /// Throws the error of a call that is over, if it has one. Every waiter gets a copy of its own.
  void throw_if_failed() const;

 private:
  enum Phase : int { noted, dropped, under_way, over };
  std::atomic<int> phase_{under_way};
  CallQueue* driver_ = nullptr;
  std::exception_ptr error_;
  Seconds running_time_{0};
  CallOptions options_;
  std::vector<std::size_t> blocks_;
  std::variant<Call, Message> what_;
};

}  // namespace ringside
