// SPDX-License-Identifier: MIT
/// Links by the names of their ends, and topologies without some of their parts.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/topology/graph.hpp"

namespace ringside {

/// "GPU3-switch0" for every pair of directions.
[[nodiscard]] std::vector<std::string> link_names(const Topology& topology);

/// Both directions of all links between two nodes: "GPU3-switch0" or "switch0-GPU3". Empty where
/// there are none.
[[nodiscard]] std::vector<LinkId> links_named(const Topology& topology, std::string_view ends);

/// Without the nodes and links that are not to be kept; a link goes with both its directions, and
/// with either of its ends.
[[nodiscard]] Topology part_of(const Topology& topology,
                               const std::function<bool(NodeId)>& keeps_node,
                               const std::function<bool(LinkId)>& keeps_link);

}  // namespace ringside
