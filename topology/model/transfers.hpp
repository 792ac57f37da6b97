// SPDX-License-Identifier: MIT
/// Copies between GPUs side by side, as p2pBandwidthLatencyTest and nvbandwidth time them.
#pragma once

#include <span>
#include <vector>

#include "ringside/topology/model/machine.hpp"

namespace ringside {

struct Transfer {
  Place from, to;
  bool reads = false;  ///< the destination's GPU fetches; else the source's GPU stores
  Mover mover = Mover::copy_engine;
};

/// When each has moved `bytes`, all begun at once: seconds, simulated, without what issuing costs.
[[nodiscard]] std::vector<double> transfer_seconds(const Machine& machine,
                                                   std::span<const Transfer> transfers,
                                                   double bytes);

/// What they move together until the last has ended, of so many bytes that latencies do not count:
/// GB/s.
[[nodiscard]] double transfer_rate(const Machine& machine, std::span<const Transfer> transfers);

}  // namespace ringside
