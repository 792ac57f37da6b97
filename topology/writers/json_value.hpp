// SPDX-License-Identifier: MIT
/// The same as a JSON value. For source files only: this header needs nlohmann-json.
#pragma once

#include "ringside/base/json_write.hpp"
#include "ringside/topology/graph.hpp"

namespace ringside {

[[nodiscard]] Json topology_json_value(const Topology& topology);

}  // namespace ringside
