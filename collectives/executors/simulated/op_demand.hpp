// SPDX-License-Identifier: MIT
/// What an op takes of a machine.
#pragma once

#include <span>
#include <vector>

#include "ringside/topology/model/machine.hpp"

namespace ringside {

/// Where the bytes of an op go, per byte of its run of chunks, what issuing it costs and how long
/// the first byte is under way. An op without bytes takes nothing: executors issue none.
struct OpDemand {
  std::vector<Use> uses;  ///< a resource may be there several times: that adds up
  double overhead = 0;    ///< seconds
  double latency = 0;     ///< seconds: the farthest source's and the farthest destination's
};

/// Of an op that runs on `gpu`: a plain copy (one of each) is moved as the machine moves copies,
/// all else by a kernel.
[[nodiscard]] OpDemand demand_of(const Machine& machine, int gpu, std::span<const Place> sources,
                                 std::span<const Place> destinations);

}  // namespace ringside
