// SPDX-License-Identifier: MIT
/// What no plan can beat for a request on a machine: bounds (topology/bounds/) in the words of
/// collectives.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ringside/collectives/request.hpp"
#include "ringside/topology/bounds/bounds.hpp"
#include "ringside/topology/model/machine.hpp"

namespace ringside {

/// What the bounds call the collective. Throws Error(unsupported) for barrier, which moves nothing.
[[nodiscard]] Demand demand_of(Collective collective);

/// Of the bytes of all blocks together those that the bounds call the message.
[[nodiscard]] double message_bytes(const Request& request, double bytes_of_all_blocks);

/// The machine's capacities with the ranks' GPUs as the vertices that compute.
[[nodiscard]] CapacityGraph capacities_for(const Machine& machine, std::span<const int> gpus);

/// For a request and its bytes.
struct RequestBounds {
  std::vector<Bound> bounds;  ///< the tightest first
  double seconds = 0;         ///< of the tightest
  /// all_reduce, reduce_scatter and all_gather on several GPUs: the best over spanning trees, and
  /// the time it takes (an all_reduce: reduce-scatter, then all-gather). Plans of another kind may
  /// beat it.
  std::optional<TreeOptimum> optimum;
  double optimum_seconds = 0;
};

/// `gpus`: of each rank; `bytes`: of all blocks together. Throws as bounds_of_any_plan does.
[[nodiscard]] RequestBounds bounds_for(const Machine& machine, std::span<const int> gpus,
                                       const Request& request, double bytes);

/// Whether data between some of the GPUs go through the host's memory.
[[nodiscard]] bool any_through_host(const Machine& machine, std::span<const int> gpus);

/// What is to be said of a bound on this machine beside its reason: that it rests on bandwidths
/// that no input tells, that data that pass through the host's memory count once. Empty where
/// nothing is; else " (...)".
[[nodiscard]] std::string bound_caveat(const Machine& machine, std::span<const int> gpus,
                                       const Bound& bound);

}  // namespace ringside
