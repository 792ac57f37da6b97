// SPDX-License-Identifier: MIT
/// `rocm-smi --showtopo` and its parts: weights, hops, link types, access, NUMA nodes; and the
/// tables of `amd-smi topology`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ringside/topology/readers/text.hpp"

namespace ringside {

struct RocmTopology {
  std::vector<std::string> names;      ///< "GPU0", ...
  std::vector<std::string> addresses;  ///< of each, where told: "0000:0c:00.0"
  /// By name of the section ("weight", "hops", "link_type", "access", "bandwidth"): names x names;
  /// "" where missing, "0" or "X" on the diagonal.
  std::map<std::string, std::vector<std::string>> matrices;
  std::map<std::string, int> numa_node, numa_affinity;
  bool truncated = false;

  /// A cell of a section; "" where there is none.
  [[nodiscard]] std::string_view cell(const std::string& section, std::size_t place) const {
    const auto found = matrices.find(section);
    return found == matrices.end() ? std::string_view() : std::string_view(found->second[place]);
  }
};

struct Reading;

/// One reading for all sections of a text; they belong together.
[[nodiscard]] std::vector<Reading> read_rocm_topology(const Text& text);
[[nodiscard]] std::vector<Reading> read_rocm_json(const Text& text);
[[nodiscard]] std::vector<Reading> read_amd_smi(const Text& text);

}  // namespace ringside
