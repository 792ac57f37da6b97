// SPDX-License-Identifier: MIT
/// Where messages to a rank wait to be taken: the meeting point of send and recv.
///
/// By rendezvous: the sender posts an envelope that says where the data are, the receiver copies
/// them and says so. The envelope is the sender's, which keeps it until then or withdraws it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "ringside/collectives/calls.hpp"

namespace ringside::host {

struct Envelope {
  enum class State {
    posted,
    taken,       ///< the receiver is at work on it
    copied,      ///< the sender's memory is its own again
    mismatched,  ///< the same, but the receiver expected something else
    failed       ///< the same, but it could not be copied: the communicator has failed
  };
  int from = 0;
  const std::byte* data = nullptr;
  std::size_t elements = 0;
  ElementType type = ElementType::float32;
  std::atomic<State> state{State::posted};
  /// What the receiver expected, for the sender's message; set before `mismatched`.
  std::size_t expected_elements = 0;
  ElementType expected_type = ElementType::float32;
  Envelope* next = nullptr;  ///< the mailbox's
};

/// The messages to one rank that nobody has taken yet: of each sender, in the order in which they
/// were posted.
class Mailbox {
 public:
  void post(Envelope& envelope);

  /// Takes the oldest message from a rank, if there is one. Until the taker sets `copied` or
  /// `mismatched` the sender waits; afterwards the envelope is gone.
  [[nodiscard]] Envelope* take(int from);

  /// Whether the envelope was still there and now is no more. Quick for the oldest of its sender.
  [[nodiscard]] bool withdraw(const Envelope& envelope);

  /// How many were posted so far; as long as it stands still, looking again finds nothing new.
  [[nodiscard]] std::uint64_t posted() const { return posted_.load(std::memory_order_acquire); }

 private:
  struct Queue {
    Envelope* oldest = nullptr;
    Envelope* latest = nullptr;
  };

  std::mutex mutex_;
  std::map<int, Queue> from_;  // by sender
  std::atomic<std::uint64_t> posted_{0};
};

}  // namespace ringside::host
