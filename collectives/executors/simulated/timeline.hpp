// SPDX-License-Identifier: MIT
/// A simulation for chrome://tracing and Perfetto.
#pragma once

#include <span>
#include <string>

#include "ringside/collectives/executors/simulated/simulate.hpp"

namespace ringside {

/// The simulation's timeline in Chrome's trace event format (JSON): a process is a GPU, a thread a
/// lane of a rank, times in microseconds. An op is two spans: `issue`, from when what it waits for
/// had ended until its bytes move, and its transfer. `gpus`: of each rank. `title` says what was
/// simulated. Throws Error(invalid_argument) for a simulation without a timeline.
[[nodiscard]] std::string chrome_trace(const Simulation& simulation, const Machine& machine,
                                       std::span<const int> gpus, const std::string& title);

}  // namespace ringside
