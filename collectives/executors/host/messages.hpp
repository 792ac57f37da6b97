// SPDX-License-Identifier: MIT
/// The messages that a rank of the host executor has under way: sends that nobody has taken, and
/// receives that nobody has sent for.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <utility>

#include "ringside/base/clock.hpp"
#include "ringside/collectives/call.hpp"
#include "ringside/collectives/executors/host/mailbox.hpp"
#include "ringside/collectives/executors/host/shared.hpp"
#include "ringside/collectives/executors/host/waiting.hpp"

namespace ringside::host {

/// Used by one thread at a time. All messages go on side by side; those of a pair of ranks keep
/// their order.
class Messages {
 public:
  using Over = Communicator::Implementation::Over;

  Messages(Shared& shared, int rank) : shared_(shared), rank_(rank) {}

  /// Begins with a message: a send is posted at once. `over` is called, here or in `work`, when
  /// nobody will touch its buffer any more.
  void add(const Message& message, Seconds limit, Over over);

  /// Works until all are over (true) or `more()` says that there may be more to add (false).
  bool work(WaitPolicy policy, const std::function<bool()>& more);

 private:
  struct Transfer {
    Transfer(const Message& what, Seconds longest, Over then)
        : message(what), limit(longest), over(std::move(then)) {}
    Message message;
    Seconds limit;
    Over over;
    Stopwatch since;
    Envelope envelope;                // of a send
    std::uint64_t looked_at = ~0ULL;  // of a receive: what its mailbox had when it last looked
    [[nodiscard]] bool sends() const { return message.direction == Message::Direction::send; }
  };

  /// Whether anything could be done; removes what is over.
  bool advance();
  /// Does what can be done for one; true if it is over.
  bool advance_send(Transfer& transfer);
  bool advance_receive(Transfer& transfer);
  bool receive(Transfer& transfer, Envelope& envelope);

  [[nodiscard]] Seconds shortest_rest() const;
  void fail_overdue();
  void fail(const Transfer& transfer, const std::string& why);
  void fail_gone(const Transfer& transfer);
  /// Ends all messages with the communicator's cause, once nobody is copying from a buffer.
  void give_up();

  [[nodiscard]] std::string describe(const Transfer& transfer) const;

  Shared& shared_;
  int rank_;
  std::list<Transfer> transfers_;  // a posted envelope must not move
};

}  // namespace ringside::host
