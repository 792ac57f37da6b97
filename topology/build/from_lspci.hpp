// SPDX-License-Identifier: MIT
/// The machine that `lspci -t` draws.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ringside/topology/graph.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {

/// Which functions are GPUs and NICs tell the descriptions (`lspci -tv`) or the other readings, by
/// bus addresses (`lspci`, nvidia-smi, amd-smi, measuring programs). The drawing does not tell
/// NUMA nodes: `lspci -vvv` or a matrix may; else pairs of different host bridges are undecided.
/// Nothing when no reading is such a tree, its columns are lost, or no GPU of it is known.
[[nodiscard]] std::optional<Topology> topology_from_lspci(std::span<const Reading> readings);

}  // namespace ringside
