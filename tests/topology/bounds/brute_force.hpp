// SPDX-License-Identifier: MIT
/// The worst cut by trying every set of vertices: what the searches are compared with.
#pragma once

#include <cstdint>
#include <random>

#include "ringside/topology/bounds/bounds.hpp"

namespace ringside::tests {

/// The greatest of all cuts, seconds per byte of the message; infinite where ranks are not
/// connected.
[[nodiscard]] double worst_of_all_cuts(const CapacityGraph& graph, Demand demand, int root);

/// 2 to 5 ranks and up to 3 switches, each pair joined or not; `symmetric`: both directions alike,
/// else each for itself. Not always connected.
[[nodiscard]] CapacityGraph random_graph(std::mt19937& random, bool symmetric);

}  // namespace ringside::tests
