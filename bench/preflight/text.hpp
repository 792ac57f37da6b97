// SPDX-License-Identifier: MIT
/// A preflight for people.
#pragma once

#include <string>

#include "ringside/bench/preflight/report.hpp"

namespace ringside::bench::preflight {

/// Devices, who may access whom, matrices with the headings of NVIDIA's p2pBandwidthLatencyTest
/// (row: source, column: destination, "-": not measured), many copies at once, host copies, and in
/// the end the findings, a line each, or that there are none.
[[nodiscard]] std::string text_of(const Report& report);

}  // namespace ringside::bench::preflight
