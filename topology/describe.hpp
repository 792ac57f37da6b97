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

/// Whether neither reads nor stores get there by what the driver says: NVLink and atomics are no
/// matter.
[[nodiscard]] bool is_kept_apart(const PeerAccess& access);

/// The GPUs that the driver does not let reach into each other's memory, a line for each: "GPU0:
/// GPU1 (GNS), GPU2 (GNS)"; one line where that is all of them; empty where it is none.
[[nodiscard]] std::string kept_apart_text(const Topology& topology);

}  // namespace ringside
