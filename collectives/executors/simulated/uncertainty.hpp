// SPDX-License-Identifier: MIT
/// How far the twin can be trusted where latencies and overheads decide.
#pragma once

#include <cstdint>

#include "ringside/topology/model/machine.hpp"

namespace ringside {

/// Messages shorter than this get a range instead of a time.
inline constexpr std::uint64_t least_certain_bytes = std::uint64_t{64} << 10;

/// The figures in microseconds are right within this factor, either way. What
/// p2pBandwidthLatencyTest prints for a write between GPUs of PCIe boxes goes from 0.36 to 1.3 us
/// (rtx6kpro hardware pages), and our own overheads are of one H200.
inline constexpr double uncertainty_of_times = 2;

/// The machine with all figures in microseconds multiplied.
[[nodiscard]] Machine with_times_scaled(const Machine& machine, double factor);

}  // namespace ringside
