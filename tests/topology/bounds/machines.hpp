// SPDX-License-Identifier: MIT
/// Machines as capacity graphs, written down by hand: capacities in GB/s.
#pragma once

#include <string>
#include <vector>

#include "ringside/topology/bounds/capacity_graph.hpp"

namespace ringside::tests {

class GraphBuilder {
 public:
  int vertex(const std::string& name);
  int rank();  ///< "GPU0", "GPU1", ...
  void arc(int from, int to, double gigabytes);
  void link(int a, int b, double gigabytes);  ///< both directions
  [[nodiscard]] const CapacityGraph& graph() const { return graph_; }

 private:
  CapacityGraph graph_;
};

/// Ranks on one switch.
[[nodiscard]] CapacityGraph star(int ranks, double gigabytes);
/// Boxes of 8 GPUs on an NVSwitch (300 each), each GPU with a NIC of 25 on one network switch.
[[nodiscard]] CapacityGraph a100_boxes(int boxes);
/// The NVLinks of a DGX-1V, 25 each.
[[nodiscard]] CapacityGraph dgx1v_mesh();
/// Two sockets with `each` GPUs (links of `gpu`), one link of `socket` between.
[[nodiscard]] CapacityGraph two_sockets(int each, double gpu, double socket);
/// Two sockets with a switch of `each` GPUs (links of `gpu`) on each; uplinks, and a link between.
[[nodiscard]] CapacityGraph two_switches_on_sockets(int each, double gpu, double uplink,
                                                    double socket);

}  // namespace ringside::tests
