// SPDX-License-Identifier: MIT
/// What the time of a simulation was spent on, in sums.
#pragma once

#include <span>
#include <vector>

#include "ringside/collectives/executors/simulated/simulate.hpp"

namespace ringside {

/// Seconds of a critical path; together they are the call's.
struct PathShares {
  struct Limited {
    std::optional<ResourceId> resource;  ///< nothing: transfers that no resource limited
    double seconds = 0;
  };
  double call = 0, overhead = 0, latency = 0;
  std::vector<Limited> transfers;  ///< the longest first
};

[[nodiscard]] PathShares shares_of(std::span<const CriticalPiece> path);

}  // namespace ringside
