// SPDX-License-Identifier: MIT
/// A topology as a picture: Graphviz's language, for `dot -Tsvg`.
#pragma once

#include <string>

#include "ringside/topology/graph.hpp"

namespace ringside {

/// Processors above, devices below, a frame around each NUMA node and each box. What was inferred
/// is dashed. Links are labelled with what is known of them.
[[nodiscard]] std::string topology_dot(const Topology& topology);

}  // namespace ringside
