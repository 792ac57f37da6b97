// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/simulated/path_shares.hpp"

#include <algorithm>

namespace ringside {

PathShares shares_of(std::span<const CriticalPiece> path) {
  PathShares shares;
  const auto transfer = [&](const CriticalPiece& piece) -> double& {
    const auto known = std::find_if(
        shares.transfers.begin(), shares.transfers.end(),
        [&](const PathShares::Limited& limited) { return limited.resource == piece.limit; });
    if (known != shares.transfers.end()) return known->seconds;
    return shares.transfers.emplace_back(PathShares::Limited{piece.limit, 0}).seconds;
  };
  for (const CriticalPiece& piece : path) {
    const double seconds = piece.end - piece.begin;
    switch (piece.kind) {
      case CriticalPiece::Kind::call:
        shares.call += seconds;
        break;
      case CriticalPiece::Kind::overhead:
        shares.overhead += seconds;
        break;
      case CriticalPiece::Kind::latency:
        shares.latency += seconds;
        break;
      case CriticalPiece::Kind::transfer:
        transfer(piece) += seconds;
        break;
    }
  }
  std::stable_sort(shares.transfers.begin(), shares.transfers.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return shares;
}

}  // namespace ringside
