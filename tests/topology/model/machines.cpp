// SPDX-License-Identifier: MIT
#include "machines.hpp"

#include <utility>

#include "ringside/topology/presets/box.hpp"

namespace ringside::tests {
namespace {

GpuModel card(int generation) {
  if (generation >= 5) return {.name = "RTX PRO 6000", .compute_capability = 120};
  return generation == 4 ? GpuModel{.name = "RTX 4090", .compute_capability = 89}
                         : GpuModel{.name = "RTX 2080 Ti", .compute_capability = 75};
}

}  // namespace

Topology switched_box(int switches, int gpus_each, int generation, const std::string& vendor) {
  Topology topology;
  Box box(topology);
  const Slot slot{.generation = generation, .width = 16};
  const NodeId numa = box.numa(0);
  for (int i = 0; i < switches; ++i) {
    const NodeId chip = box.pcie_switch(box.bridge(numa), slot);
    if (!vendor.empty()) topology.node(chip).details["vendor"] = vendor;
    for (int j = 0; j < gpus_each; ++j) box.gpu(chip, slot, card(generation));
  }
  return topology;
}

Topology direct_box(int sockets, int gpus_each, int generation, int family, int model) {
  Topology topology;
  Box box(topology);
  std::vector<NodeId> numa;
  for (int i = 0; i < sockets; ++i) {
    numa.push_back(box.numa(i));
    auto& details = topology.node(numa.back()).details;
    details["vendor"] = "AuthenticAMD";
    details["familyid"] = std::to_string(family);
    details["modelid"] = std::to_string(model);
    for (int j = 0; j < gpus_each; ++j)
      box.gpu(box.bridge(numa.back()), {.generation = generation, .width = 16}, card(generation));
  }
  box.sockets(numa);
  return topology;
}

Machine machine_of(Topology topology, MachineSettings settings) {
  LinkModel model = *link_model_for(topology).model;
  return Machine(std::move(topology), std::move(model), settings);
}

std::vector<Transfer> copies(std::vector<Pair> pairs) {
  std::vector<Transfer> transfers;
  for (const auto& pair : pairs)
    transfers.push_back({.from = {.gpu = pair.from}, .to = {.gpu = pair.to}});
  return transfers;
}

std::vector<Transfer> both_ways(int a, int b) { return copies({{a, b}, {b, a}}); }

std::vector<Transfer> all_to_all(int gpus) {
  std::vector<Pair> pairs;
  for (int i = 0; i < gpus; ++i)
    for (int j = 0; j < gpus; ++j)
      if (i != j) pairs.push_back({i, j});
  return copies(pairs);
}

}  // namespace ringside::tests
