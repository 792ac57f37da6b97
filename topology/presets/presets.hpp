// SPDX-License-Identifier: MIT
/// Machines by name, for whoever wants to plan for one that is not at hand.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/topology/graph.hpp"

namespace ringside {

struct Preset {
  std::string_view name;     ///< "dgx-a100"; "fat-tree:boxes=N" takes a number
  std::string_view summary;  ///< what it is, in a line
  std::string_view source;   ///< who says that it is so
};

[[nodiscard]] const std::vector<Preset>& presets();

/// The machine of that name; nothing when no preset is called so. Throws Error(bad_input) for a
/// parameter that cannot be read.
[[nodiscard]] std::optional<Topology> make_preset(std::string_view name);

}  // namespace ringside
