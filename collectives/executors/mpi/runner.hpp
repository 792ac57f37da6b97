// SPDX-License-Identifier: MIT
/// A rank's part of a plan, run on the caller's thread: all its lanes side by side, those of sends
/// and receives among them.
///
/// A lane of ops runs them one after another, each when its waits are reached. A lane of messages
/// begins them in order, as early as their waits allow, and counts them done in the same order. So
/// no message waits for one listed later, and nothing can deadlock.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "ringside/collectives/executors/mpi/board.hpp"
#include "ringside/collectives/executors/mpi/exchange.hpp"
#include "ringside/collectives/executors/mpi/plans.hpp"

namespace ringside::mpi {

/// Whom a rank waits for, and with what op (of the plan).
struct Obstacle {
  int peer = 0;
  int op = 0;
};

class Runner {
 public:
  Runner(Board& board, Tags tags);

  /// Begins with a program in the call of that number; `input` and `output` are this rank's own.
  /// The entries of near ranks must be there.
  void begin(const Bound& bound, std::uint64_t call, const std::byte* input, std::byte* output);
  /// Does what can be done; true if that was anything. Throws Error(io) if the kernel refuses a
  /// copy or the MPI a message.
  bool advance();
  /// Whether all steps are done.
  [[nodiscard]] bool is_over() const { return unfinished_ == 0; }
  /// The first that is not reached of what the rank waits for, to leave, when all steps are done.
  [[nodiscard]] const host::BoundWait* leave_obstacle() const;
  /// What the rank waits for: another rank of this host, or the other end of a message.
  [[nodiscard]] std::optional<Obstacle> obstacle() const;
  /// Gives up on all messages under way.
  void drop();

 private:
  struct Flight {
    Ticket ticket;
    std::uint32_t step = 0;
  };
  struct Lane {
    std::uint32_t next = 0;  // steps that were begun
    std::uint32_t done = 0;
    std::deque<Flight> flights;
  };
  [[nodiscard]] bool reached(const host::BoundWait& wait) const;
  [[nodiscard]] const host::BoundWait* first_unreached(const host::Step& step) const;
  bool advance_ops(std::size_t lane);
  bool advance_messages(std::size_t lane);
  void execute(const host::Step& step);
  void copy(const host::Step& step, const Role& role);
  void begin_messages(const host::Step& step, std::size_t lane);
  void set_done(std::size_t lane, std::uint32_t done);
  [[nodiscard]] Obstacle described(const host::BoundWait& wait) const;

  Board& board_;
  Transport& transport_;
  Tags tags_;
  const Bound* bound_ = nullptr;
  std::uint64_t call_ = 0;
  std::size_t unfinished_ = 0;  // lanes
  std::vector<Lane> lanes_;
  std::vector<std::byte*> bases_;  // by host::base_index; of private memory: its owner's address
  std::vector<bool> has_shared_;   // by rank: its buffers are mapped here
  std::vector<const std::byte*> sources_;
  std::vector<std::byte*> destinations_;
};

}  // namespace ringside::mpi
