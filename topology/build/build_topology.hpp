// SPDX-License-Identifier: MIT
/// From readings to the machine that they describe.
#pragma once

#include <span>
#include <vector>

#include "ringside/topology/graph.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {

struct BuiltTopology {
  Topology topology;
  std::vector<Finding> findings;  ///< what had to be assumed, and what does not fit together
};

/// Whether some reading tells how devices are linked.
[[nodiscard]] bool tells_links(std::span<const Reading> readings);

/// The machine that all readings describe. A description of the tree (XML, our JSON) is taken as it
/// is and the others add to it; from matrices alone comes the smallest tree that has their classes.
/// Throws Error(bad_input) when no reading tells of devices, when they contradict each other, or
/// when no machine can look like that.
[[nodiscard]] BuiltTopology build_topology(std::span<const Reading> readings);

}  // namespace ringside
