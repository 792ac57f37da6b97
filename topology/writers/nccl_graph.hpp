// SPDX-License-Identifier: MIT
/// A ring as the XML that NCCL_GRAPH_FILE takes.
#pragma once

#include <span>
#include <string>

#include "ringside/topology/graph.hpp"

namespace ringside {

/// Rings through all GPUs of one box in this order, by their numbers; the trees NCCL goes on to
/// find itself. `gb_per_s`: what the slowest hop carries. Throws Error(invalid_argument) for an
/// order that does not name every GPU once (NCCL checks none of that and would overrun memory),
/// Error(unsupported) for more than one box.
[[nodiscard]] std::string nccl_ring_graph(const Topology& topology, std::span<const int> order,
                                          double gb_per_s);

}  // namespace ringside
