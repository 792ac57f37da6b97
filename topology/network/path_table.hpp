// SPDX-License-Identifier: MIT
/// The paths of a flow engine: each set of uses once, with a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "ringside/topology/network/flow_engine.hpp"

namespace ringside::network {

class PathTable {
 public:
  /// For resources 0 to `resources` - 1.
  explicit PathTable(int resources) : resources_(resources) {}

  /// The number of the path with these uses: several of one resource added up, their order
  /// ignored. Errors as FlowEngine::add_path.
  PathId add(std::span<const Use> uses);

  [[nodiscard]] int size() const { return static_cast<int>(ends_.size()); }
  /// By resource, ascending.
  [[nodiscard]] std::span<const Use> uses(PathId path) const;

 private:
  void normalise(std::span<const Use> uses);

  int resources_;
  std::vector<Use> uses_;          // of all paths, one after another
  std::vector<std::size_t> ends_;  // by path: where its uses end
  std::unordered_multimap<std::uint64_t, PathId> by_hash_;
  std::vector<Use> wanted_;  // the uses to be added, normalised
};

}  // namespace ringside::network
