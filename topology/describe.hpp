// SPDX-License-Identifier: MIT
/// Nodes and links in a few words, for trees, pictures and messages.
#pragma once

#include <string>

#include "ringside/topology/graph.hpp"

namespace ringside {

/// "PCIe 4.0 x16", "PCIe x8", "4 NVLinks (gen 3)", "socket link"; "PCIe" where no more is known.
[[nodiscard]] std::string describe(const Link& link);

/// What is known beside the name: "0000:1b:00.0, RTX 4090, cpus 0-23"; "" where nothing is.
[[nodiscard]] std::string describe(const Node& node);

/// "4 GPUs, 2 NICs, 2 NUMA nodes".
[[nodiscard]] std::string summary(const Topology& topology);

}  // namespace ringside
