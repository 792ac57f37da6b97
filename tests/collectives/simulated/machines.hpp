// SPDX-License-Identifier: MIT
/// Machines for tests of the twin: simple ones whose times follow from a formula, and presets.
#pragma once

#include <string>
#include <string_view>

#include "ringside/topology/model/machine.hpp"

namespace ringside::tests {

/// Bytes per second of a link of the simple machines, in one direction.
inline constexpr double link_rate_of_simple = 20e9;

/// What a simple machine costs beside bandwidth, in microseconds.
struct SimpleCosts {
  double latency = 0;  ///< of a link
  double op = 0, wait = 0, call = 0;
};

/// GPUs on one switch, each with a link, and with memories that are never the limit.
[[nodiscard]] Machine star(int gpus, const SimpleCosts& costs = {});
/// GPUs in a row, each with a link to the next.
[[nodiscard]] Machine row(int gpus, const SimpleCosts& costs = {});

/// A preset with the link model that fits it.
[[nodiscard]] Machine preset_machine(std::string_view name);
/// The same where GPUs do not reach into each other's memory.
[[nodiscard]] Machine preset_without_peer_access(std::string_view name);
/// The same without any latency or overhead.
[[nodiscard]] Machine preset_without_overheads(std::string_view name);

}  // namespace ringside::tests
