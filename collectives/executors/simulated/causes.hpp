// SPDX-License-Identifier: MIT
/// What made an op begin when it did: the op before it on the path that the time went. Only what
/// may still lie on the path to the end is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ringside/collectives/executors/simulated/simulate.hpp"

namespace ringside::simulated {

/// An op that has ended, as the critical path tells it.
struct EndedOp {
  std::uint64_t op = 0;
  int slice = 0, rank = 0;
  double overhead = 0;  ///< seconds from its cause's end until it was on its way
  double latency = 0;   ///< seconds from then until its bytes began to move
  double end = 0;
  std::optional<ResourceId> limit = {};
};

class Causes {
 public:
  using Id = int;
  static constexpr Id start = -1;  ///< the call itself

  /// Keeps an op; `cause` is handed over. The result belongs to the caller.
  Id add(const EndedOp& op, Id cause);
  [[nodiscard]] Id share(Id id);
  void release(Id id);

  /// From the start of the call, whose overhead takes `call` seconds, to the end of `last`.
  [[nodiscard]] std::vector<CriticalPiece> path(Id last, double call) const;
  /// Ops that are kept.
  [[nodiscard]] std::size_t size() const { return records_.size() - free_.size(); }

 private:
  struct Record {
    EndedOp op;
    Id cause = start;
    int users = 1;
  };
  std::vector<Record> records_;
  std::vector<Id> free_;
};

}  // namespace ringside::simulated
