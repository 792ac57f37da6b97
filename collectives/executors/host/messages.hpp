// SPDX-License-Identifier: MIT
/// The messages that a rank of the host executor has under way: sends that nobody has taken, and
/// receives that nobody has sent for.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <map>
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

  /// What ends a copy before its end.
  struct CopyEnd {
    WaitPolicy policy;  ///< how it is waited for, and for how long
    const Failure& failure;
    int rank;  ///< the receiver's
  };
  /// How a receiver copies a message, which may lie where it is to go, if that is not memory of the
  /// host. Throws Error where it cannot.
  using Copy =
      std::function<void(void* to, const void* from, std::size_t bytes, const CopyEnd& end)>;

  /// `copy`: none, for memory of the host.
  Messages(Shared& shared, int rank, Copy copy)
      : shared_(shared), rank_(rank), copy_(std::move(copy)) {}

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
    Envelope envelope;  // of a send
    [[nodiscard]] Seconds rest() const { return limit - since.elapsed(); }
    [[nodiscard]] bool sends() const { return message.direction == Message::Direction::send; }
  };

  /// What is under way with one rank. Messages of a pair are over in their order, so only the first
  /// of each list is looked at: a later one must not overtake it, and needs no look before.
  struct Peer {
    std::list<Transfer> sends;  // a posted envelope must not move
    std::list<Transfer> receives;
    std::uint64_t looked_at = 0;  // what the mailbox had when the receives last looked
    bool looks = false;           // there are receives that have not looked yet
  };

  /// Whether anything could be done; removes what is over.
  bool advance();
  bool advance_sends(Peer& peer);
  bool advance_receives(int from, Peer& peer);
  /// Does what can be done for one; true if it is over.
  bool advance_send(Transfer& transfer);
  void receive(Transfer& transfer, Envelope& envelope);

  /// A send or receive with the least time left; none if there is none.
  [[nodiscard]] const Transfer* most_urgent() const;
  /// Fails if a time limit has passed; else sets when to look again.
  void fail_overdue();
  void fail_gone(const Transfer& transfer);
  void copy(const Transfer& transfer, const Envelope& envelope);
  /// Ends all messages with the communicator's cause, once nobody is copying from a buffer. A copy
  /// by a device may never end: after a while it is left behind.
  void give_up();
  /// False if somebody is still copying.
  [[nodiscard]] bool give_up(Transfer& transfer);

  Shared& shared_;
  int rank_;
  Copy copy_;
  WaitPolicy policy_;          // of the work under way
  std::map<int, Peer> peers_;  // those with anything under way
  /// No time limit passes before: those of messages that are over count until it is reached.
  Seconds next_limit_{std::numeric_limits<double>::infinity()};
  Stopwatch clock_;  // of `next_limit_`
};

}  // namespace ringside::host
