// SPDX-License-Identifier: MIT
/// Whether inputs can be of one machine, as far as the GPUs' models and peer access tell. How many
/// GPUs there are and how they are linked, building the topology compares (build_topology.hpp).
#pragma once

#include <span>

#include "ringside/topology/readers/reading.hpp"

namespace ringside {

/// Throws Error(bad_input), naming the inputs and what differs: two list models of which none is
/// the same, or two matrices of peer access contradict each other.
void check_one_machine(std::span<const Reading> readings);

}  // namespace ringside
