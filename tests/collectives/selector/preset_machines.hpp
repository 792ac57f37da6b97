// SPDX-License-Identifier: MIT
/// Machines by the names of presets, and what the tests of choices ask of them.
#pragma once

#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ringside/collectives/selector/predicted_choice.hpp"
#include "ringside/topology/presets/presets.hpp"

namespace ringside::tests {

inline Machine machine_of(Topology topology) {
  const LinkModel model = *link_model_for(topology).model;
  return {std::move(topology), model};
}

inline Machine machine_of(std::string_view preset) { return machine_of(*make_preset(preset)); }

inline std::vector<int> all_gpus(const Machine& machine) {
  std::vector<int> gpus(static_cast<std::size_t>(machine.gpus()));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

/// Every preset; of fat trees one of four boxes.
inline std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const auto& preset : presets())
    names.emplace_back(preset.name.ends_with("=N") ? "fat-tree:boxes=4" : preset.name);
  return names;
}

inline Question all_reduce_of(const Machine& machine, std::uint64_t bytes) {
  return {.request = {Collective::all_reduce, machine.gpus()}, .bytes = bytes};
}

}  // namespace ringside::tests
