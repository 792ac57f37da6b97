// SPDX-License-Identifier: MIT
/// GPUs by the numbers that tools print, and by their places in Topology::gpus().
#pragma once

#include <span>
#include <vector>

#include "ringside/topology/graph.hpp"

namespace ringside {

/// A GPU's number, its place where it has none.
[[nodiscard]] inline int gpu_number(const Topology& topology, NodeId gpu, std::size_t place) {
  return topology.node(gpu).number.value_or(static_cast<int>(place));
}

/// Places of the GPUs of these numbers, in their order; numbers that no GPU has are left out.
[[nodiscard]] std::vector<int> gpu_places(const Topology& topology, std::span<const int> numbers);

}  // namespace ringside
