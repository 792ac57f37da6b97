// SPDX-License-Identifier: MIT
/// A machine as far as bounds care: vertices, some of which compute, and arcs with capacities.
#pragma once

#include <string>
#include <vector>

namespace ringside {

struct CapacityGraph {
  struct Arc {
    int from = 0, to = 0;
    double capacity = 0;  ///< bytes per second
    std::string name;     ///< for people: "GPU0 -> switch0"
  };
  std::vector<std::string> vertices;  ///< names
  std::vector<int> compute;           ///< vertices that hold data: the ranks, in their order
  std::vector<Arc> arcs;
};

}  // namespace ringside
