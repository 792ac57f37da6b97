// SPDX-License-Identifier: MIT
/// The twin written a second time, for plans small enough to be stored: all ops of all slices, with
/// the waits that make_schedule derives, on the flow engine.
#pragma once

#include <vector>

#include "ringside/collectives/executors/simulated/simulate.hpp"

namespace ringside::tests {

struct ReferenceResult {
  double seconds = 0;
  std::vector<ResourceUsage> resources;
};

/// `plan`: lowered for the machine, if need be. `call.gpus` has a GPU for each rank.
[[nodiscard]] ReferenceResult reference_simulation(const Machine& machine, const Plan& plan,
                                                   const SimulatedCall& call);

}  // namespace ringside::tests
