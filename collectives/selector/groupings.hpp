// SPDX-License-Identifier: MIT
/// How ranks lie on a machine: the groups that its parts make of them, and orders that follow it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ringside/topology/graph.hpp"

namespace ringside {

using Groups = std::vector<std::vector<int>>;

/// All ranks in groups, each ascending, ordered by their first ranks.
struct Grouping {
  Groups groups;
  std::string by;  ///< what they have in common: "box", "NUMA node", "host bridge", "switch", ...

  bool operator==(const Grouping&) const = default;
};

/// The groups that the machine suggests: ranks in one box, at one NUMA node, under one host bridge
/// or switch, linked to each other by NVLink (or xGMI), directly or by most links. The coarsest
/// first; none twice, none of a single group and none that leaves everybody alone. `gpus`: of each
/// rank, index in Topology::gpus().
[[nodiscard]] std::vector<Grouping> groupings(const Topology& topology, std::span<const int> gpus);

/// Orders of the ranks in which neighbours are near: as they are numbered, as they lie in the
/// trees of the machine, and with every second box reversed, so that boxes meet at GPUs alike.
/// None twice.
[[nodiscard]] std::vector<std::vector<int>> orders_along(const Topology& topology,
                                                         std::span<const int> gpus);

}  // namespace ringside
