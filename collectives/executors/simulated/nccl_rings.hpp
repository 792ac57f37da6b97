// SPDX-License-Identifier: MIT
/// The rings that NCCL's channels go round, as far as they decide which links are busy: found by
/// search, not by NCCL's own (which also weighs bandwidths).
#pragma once

#include <vector>

#include "ringside/collectives/plan.hpp"
#include "ringside/topology/graph.hpp"

namespace ringside {

/// Orders of the ranks, one for each ring; `gpus[rank]`: index in Topology::gpus().
/// - GPUs joined directly by NVLink or xGMI: as many rings as use each of their links once.
/// - Several boxes: one ring for each GPU of a box, which leaves the box from there.
/// - Else one ring in the order of the ranks.
[[nodiscard]] std::vector<std::vector<int>> nccl_rings(const Topology& topology,
                                                       const std::vector<int>& gpus);

/// All-reduce with an equal part of the data round each ring, side by side.
[[nodiscard]] Plan all_reduce_on_rings(const std::vector<std::vector<int>>& rings);

}  // namespace ringside
