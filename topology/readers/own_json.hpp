// SPDX-License-Identifier: MIT
/// Our own topology files (writers/json.hpp), alone or inside what `ringside topo --format json`
/// prints.
#pragma once

#include <string_view>
#include <vector>

#include "ringside/topology/graph.hpp"
#include "ringside/topology/readers/text.hpp"

namespace ringside {

class JsonValue;

/// The value that such a file is. Throws Error(bad_input), saying where, for any other.
[[nodiscard]] Topology topology_from_json(const JsonValue& root);

/// Throws Error(bad_input) for a text that is no such file, saying where.
[[nodiscard]] Topology parse_topology_json(std::string_view text);

struct Reading;

/// Nothing when the text is no JSON object with "ringside_topology".
[[nodiscard]] std::vector<Reading> read_own_json(const Text& text);

}  // namespace ringside
