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

/// One input as load_topology takes them. Throws as it does.
[[nodiscard]] std::optional<Topology> preset_of_input(const std::string& input);
/// A preset is a whole machine: throws Error(invalid_argument) when there are other inputs.
void check_alone(const std::string& preset, std::size_t inputs);
[[nodiscard]] std::string text_of_input(const std::string& input);
[[nodiscard]] std::string source_name(const std::string& input);  ///< "-" has one, too

/// What readings of one machine make of it.
[[nodiscard]] LoadedTopology load_readings(std::vector<Reading> readings);

/// Each input is the name of a preset (unless there is a file of that name), "-" for standard
/// input, or a file; several files describe one machine. Throws Error(bad_input) for what is not
/// understood or contradicts itself, Error(io) for what cannot be read, Error(invalid_argument) for
/// a preset beside other inputs.
[[nodiscard]] LoadedTopology load_topology(std::span<const std::string> inputs);

}  // namespace ringside
