// SPDX-License-Identifier: MIT
/// A topology for people, on a terminal.
#pragma once

#include <string>

#include "ringside/topology/graph.hpp"

namespace ringside {

/// The trees of the machine with the speed of every link, then what joins the GPUs directly.
[[nodiscard]] std::string tree_text(const Topology& topology);

/// Which pairs of GPUs share which links, the busiest link first; "" where none do.
[[nodiscard]] std::string shared_links_text(const Topology& topology);

}  // namespace ringside
