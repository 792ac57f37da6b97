// SPDX-License-Identifier: MIT
/// What an asynchronous call returns: the means to wait for it.
#pragma once

#include <memory>

#include "ringside/base/clock.hpp"

namespace ringside {

/// An asynchronous call under way. May be waited for and destroyed on any thread, also after its
/// communicator. A destructor waits (the buffers are the caller's to reuse) and drops an error;
/// `wait` tells it. In an open group, where the call cannot begin, a destructor leaves the waiting,
/// and the error, to the end of the group.
class Handle {
 public:
  class State;  ///< of the call, shared with who runs it
  /// Nothing to wait for.
  Handle() = default;
  /// For those who make calls (AsyncCalls).
  explicit Handle(std::shared_ptr<State> state);
  Handle(Handle&&) noexcept = default;
  Handle& operator=(Handle&& other) noexcept;  ///< waits for the call that is replaced
  ~Handle();

  /// Returns when the call is over; rethrows its error, every time. In an open group the call has
  /// not even begun: Error(invalid_argument).
  void wait();
  /// Whether it is over, well or not. Where only one thread may make calls (MPI without
  /// MPI_THREAD_MULTIPLE) asynchronous calls go on only here and where that thread waits.
  [[nodiscard]] bool done() const;
  /// How long the call ran on its thread, waiting for other ranks included, once it is over; zero
  /// before, and for messages, which run side by side. What of it the caller did not wait for was
  /// hidden behind what it did meanwhile.
  [[nodiscard]] Seconds running_time() const;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace ringside
