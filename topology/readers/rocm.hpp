// SPDX-License-Identifier: MIT
/// `rocm-smi --showtopo` and its parts: weights, hops, link types, NUMA nodes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ringside/topology/readers/text.hpp"

namespace ringside {

struct RocmTopology {
  std::vector<std::string> names;  ///< "GPU0", ...
  /// By name of the section ("weight", "hops", "link_type"): names x names; "" where missing, "0"
  /// or "X" on the diagonal.
  std::map<std::string, std::vector<std::string>> matrices;
  std::map<std::string, int> numa_node, numa_affinity;
  bool truncated = false;
};

struct Reading;

/// One reading for all sections of a text; they belong together.
[[nodiscard]] std::vector<Reading> read_rocm_topology(const Text& text);

}  // namespace ringside
