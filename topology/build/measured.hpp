// SPDX-License-Identifier: MIT
/// What readings tell of measurements between GPUs, in the numbers of one machine.
#pragma once

#include <span>
#include <vector>

#include "ringside/topology/graph.hpp"
#include "ringside/topology/measurements.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {

/// The figures of p2pBandwidthLatencyTest, nvbandwidth and the preflight. A matrix whose heading
/// does not tell what it is tells nothing of a pair. With a topology GPUs have its numbers: by
/// their bus addresses where both know them, else in the order of the addresses (as nvidia-smi
/// counts), else as the program counts. Throws Error(bad_input) for more GPUs than the topology
/// has.
[[nodiscard]] Measurements measurements_of(std::span<const Reading> readings,
                                           const Topology* topology,
                                           std::vector<Finding>& findings);

/// Models, addresses, and whether the driver lets GPUs reach each other, as such programs list
/// them.
void add_measured_devices(std::span<const Reading> readings, Topology& topology,
                          std::vector<Finding>& findings);

}  // namespace ringside
