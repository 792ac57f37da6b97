// SPDX-License-Identifier: MIT
/// The machines of published measurements, as far as the sources tell.
#pragma once

#include <string>

#include "ringside/topology/graph.hpp"

namespace ringside::bench {

/// By the name that the table of rows gives it; a preset's name is that preset. Throws
/// Error(bad_input) for any other.
[[nodiscard]] Topology published_machine(const std::string& name);

}  // namespace ringside::bench
