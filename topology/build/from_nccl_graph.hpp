// SPDX-License-Identifier: MIT
/// The machine behind the tree that NCCL prints.
#pragma once

#include <vector>

#include "ringside/topology/graph.hpp"
#include "ringside/topology/readers/finding.hpp"
#include "ringside/topology/readers/nccl_graph.hpp"

namespace ringside {

/// Processors become NUMA nodes; the GPUs are numbered in the order of their bus addresses. NCCL's
/// bandwidths are details ("nccl.gb_per_s"): they follow from its table of link speeds, and tell
/// neither generation nor width. Throws Error(bad_input) when there is no GPU in it.
[[nodiscard]] Topology topology_from_nccl_graph(const NcclGraph& graph,
                                                std::vector<Finding>& findings);

}  // namespace ringside
