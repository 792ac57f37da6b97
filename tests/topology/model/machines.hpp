// SPDX-License-Identifier: MIT
/// Machines as published measurements describe them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ringside/topology/graph.hpp"
#include "ringside/topology/model/machine.hpp"
#include "ringside/topology/model/transfers.hpp"

namespace ringside::tests {

/// `switches` PCIe switches of `gpus_each`, each on a host bridge of its own, one NUMA node.
[[nodiscard]] Topology switched_box(int switches, int gpus_each, int generation,
                                    const std::string& vendor = "");
/// GPUs on host bridges of their own; `gpus_each` on each of `sockets` of an AMD processor.
[[nodiscard]] Topology direct_box(int sockets, int gpus_each, int generation, int family,
                                  int model);
[[nodiscard]] Machine machine_of(Topology topology, MachineSettings settings = {});

/// Plain copies between GPUs.
struct Pair {
  int from, to;
};
[[nodiscard]] std::vector<Transfer> copies(std::vector<Pair> pairs);
/// Both directions of a pair.
[[nodiscard]] std::vector<Transfer> both_ways(int a, int b);
/// Every GPU to every other.
[[nodiscard]] std::vector<Transfer> all_to_all(int gpus);

}  // namespace ringside::tests
