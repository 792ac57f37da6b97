// SPDX-License-Identifier: MIT
/// What a rank that waits for long looks at besides what it waits for: whether a process of its
/// host has died, and what other hosts tell; and who is to blame when its time is up.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "ringside/base/clock.hpp"
#include "ringside/base/error.hpp"
#include "ringside/collectives/executors/mpi/board.hpp"
#include "ringside/collectives/executors/mpi/exchange.hpp"

namespace ringside::mpi {

class Watch {
 public:
  Watch(Board& board, Exchange& exchange) : board_(board), exchange_(exchange) {}

  /// To be called again and again while a rank waits; quick. A death is put on the board as the
  /// communicator's failure.
  void look();

  /// Whether a rank has returned from its body without making a call of this number.
  [[nodiscard]] bool has_gone(int rank, std::uint64_t call) const {
    if (!board_.is_near(rank)) return exchange_.has_gone(rank, call);
    // It may have entered before it went: look again.
    return board_.block(rank).gone.load() && board_.entry(rank, call).call.load() != call;
  }
  /// Whether it has returned.
  [[nodiscard]] bool has_gone(int rank) const {
    return board_.is_near(rank)
               ? board_.block(rank).gone.load()
               : exchange_.has_gone(rank, std::numeric_limits<std::uint64_t>::max());
  }

  /// The limit `limit` has passed for a rank that waits in a call for `peer`, and `error` says so.
  /// Returns what is to be told: a stopped process of this host if there is one; if `peer` waits in
  /// turn, what it tells within a short time of grace.
  [[nodiscard]] Error blame(const Error& error, int peer, std::uint64_t call, Seconds limit);

 private:
  [[nodiscard]] std::optional<Error> stopped_rank(const Error& error) const;
  [[nodiscard]] bool wait_for_failure(Seconds longest, int asked);

  Board& board_;
  Exchange& exchange_;
  Seconds next_look_{0};
};

}  // namespace ringside::mpi
