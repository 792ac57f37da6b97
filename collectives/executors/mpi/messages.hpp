// SPDX-License-Identifier: MIT
/// send and recv between processes, as messages of the MPI.
///
/// By rendezvous: the sender's envelope says what is to come; the receiver answers whether that is
/// what it expects, and only then the data go. So a mismatch shows at both ends, with no buffer
/// touched.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>

#include "ringside/base/clock.hpp"
#include "ringside/collectives/call.hpp"
#include "ringside/collectives/executors/host/waiting.hpp"
#include "ringside/collectives/executors/mpi/board.hpp"
#include "ringside/collectives/executors/mpi/exchange.hpp"
#include "ringside/collectives/executors/mpi/watch.hpp"

namespace ringside::mpi {

/// Used by one thread at a time. As host::Messages.
class Messages {
 public:
  using Over = Communicator::Implementation::Over;

  Messages(Board& board, Exchange& exchange, Watch& watch, Tags tags)
      : board_(board), exchange_(exchange), watch_(watch), tags_(tags) {}

  void add(const Message& message, Seconds limit, Over over);
  /// Works until all are over (true) or `more()` says that there may be more to add (false).
  bool work(const host::WaitPolicy& policy, const std::function<bool()>& more);

 private:
  struct Envelope {
    std::uint64_t elements = 0;
    std::uint64_t type = 0;
  };
  struct Transfer {
    Message message;
    Seconds limit;
    Over over;
    Stopwatch since;
    enum class Phase { begins, envelope, data } phase = Phase::begins;
    Envelope mine, theirs;
    Ticket out, in;
    [[nodiscard]] bool sends() const { return message.direction == Message::Direction::send; }
    [[nodiscard]] std::size_t bytes() const { return message.elements * size_of(message.type); }
  };
  /// Messages of a pair and a direction are over in their order.
  using Queue = std::list<Transfer>;

  bool advance();
  bool advance(Transfer& transfer);
  bool advance_to_oneself();
  [[nodiscard]] bool is_gone(const Transfer& transfer) const;
  void fail_overdue();
  void fail(const Error& cause);
  void give_up();

  Board& board_;
  Exchange& exchange_;
  Watch& watch_;
  Tags tags_;
  std::map<std::pair<int, bool>, Queue> queues_;  // by peer and whether it sends
};

}  // namespace ringside::mpi
