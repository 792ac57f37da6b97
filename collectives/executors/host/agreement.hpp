// SPDX-License-Identifier: MIT
/// Whether the ranks that met made the same call, told from what each has published of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/base/error.hpp"
#include "ringside/collectives/executors/host/signature.hpp"

namespace ringside::host {

/// What a rank has published of its call.
struct PublishedCall {
  std::uint64_t digest = 0;  ///< of the signature
  const Signature* signature = nullptr;
};

/// The placement of the call number `call`, which the ranks agree on; every rank comes to the same
/// verdict. Throws Error(mismatch), which says who differs in what.
[[nodiscard]] Placement agreed_placement(std::span<const PublishedCall> published, int rank,
                                         std::uint64_t call);

/// The time-out of a rank for which `missing` (at least one) have not entered. `gone`: a rank that
/// has returned without entering, or -1; else `limit` has passed. `planning`: with which algorithm
/// that is not ours a rank is planning, or "".
[[nodiscard]] Error missing_ranks(const std::vector<int>& missing, Collective collective,
                                  std::uint64_t call, int rank, int gone, Seconds limit,
                                  const std::function<std::string(int rank)>& planning = {});

/// The time-out of a rank that has no plan: `error` is what PlanCache::get has thrown.
[[nodiscard]] Error planning_overdue(const Error& error, int rank);

/// The time-out of a rank that waits for an op of another's stream.
[[nodiscard]] Error unfinished_op(int peer, int op, Collective collective, const std::string& spec,
                                  std::uint64_t call, int rank, Seconds limit);

}  // namespace ringside::host
