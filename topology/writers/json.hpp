// SPDX-License-Identifier: MIT
/// A topology as our own JSON, which keeps everything and is read back (readers/own_json.hpp).
#pragma once

#include <string>

#include "ringside/topology/graph.hpp"

namespace ringside {

/// {"ringside_topology": 1, "name", "nodes": [{"name", "kind", ...}], "links": [{"from", "to",
/// "kind", ..., "back": {...}}], "undecided": [...], "peer_access": [...]}. Nodes are named, facts
/// that are not known are left out; "back" has what differs in the other direction.
[[nodiscard]] std::string topology_json(const Topology& topology);

}  // namespace ringside
