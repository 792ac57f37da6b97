// SPDX-License-Identifier: MIT
/// The machine that a command line names: presets, files, standard input.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ringside/topology/build/build_topology.hpp"
#include "ringside/topology/measurements.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {

struct LoadedTopology {
  std::vector<Reading> readings;  ///< of the files, one after another; none for a preset
  /// Nothing when the inputs tell facts (speeds, measurements), but not how devices are linked.
  std::optional<BuiltTopology> built;
  /// Between the GPUs, in the numbers of `built` where there is one.
  Measurements measured;
};

/// Each input is the name of a preset (unless there is a file of that name), "-" for standard
/// input, or a file; several files describe one machine. Throws Error(bad_input) for what is not
/// understood or contradicts itself, Error(io) for what cannot be read, Error(invalid_argument) for
/// a preset beside other inputs.
[[nodiscard]] LoadedTopology load_topology(std::span<const std::string> inputs);

}  // namespace ringside
