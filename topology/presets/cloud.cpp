// SPDX-License-Identifier: MIT
/// Cloud machines, as their guests see them: a hypervisor shows what it likes of switches and
/// sockets, and what it does not show is left out.
#include <vector>

#include "ringside/topology/presets/box.hpp"
#include "ringside/topology/presets/makers.hpp"

namespace ringside::preset {
namespace {

const GpuModel v100 = {.name = "V100-SXM2", .compute_capability = 70, .nvlink_generation = 2};
const GpuModel a100 = {.name = "A100-SXM4", .compute_capability = 80, .nvlink_generation = 3};
const Slot gen3_x16 = {.generation = 3, .width = 16};
constexpr int gigabits_100 = 100'000;

/// Cards behind one host bridge: every pair without NVLink is PHB.
Topology one_bridge(int gpus, const Slot& slot, const GpuModel& model,
                    const std::vector<Box::Bond>& nvlinks = {}) {
  Topology topology;
  Box box(topology);
  const NodeId host = box.bridge(box.numa(0));
  for (int i = 0; i < gpus; ++i) box.gpu(host, slot, model);
  box.nvlinks(nvlinks);
  return topology;
}

}  // namespace

Topology g4dn_12xlarge() {
  return one_bridge(4, {.generation = 3, .width = {}},
                    {.name = "Tesla T4", .compute_capability = 75, .origin = Origin::inferred});
}

Topology g5_12xlarge() {
  return one_bridge(4, {.generation = 4, .width = {}},
                    {.name = "A10G", .compute_capability = 86, .origin = Origin::inferred});
}

/// Eight boards, each with two GPUs on a switch.
Topology p2_16xlarge() {
  Topology topology;
  Box box(topology);
  const NodeId host = box.bridge(box.numa(0));
  const GpuModel k80 = {.name = "Tesla K80", .compute_capability = 37, .origin = Origin::inferred};
  for (int board = 0; board < 8; ++board) {
    const NodeId chip = box.pcie_switch(host, gen3_x16);
    for (int i = 0; i < 2; ++i) box.gpu(chip, gen3_x16, k80);
  }
  return topology;
}

Topology p3_8xlarge() {
  return one_bridge(4, gen3_x16, v100,
                    {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {1, 2, 2}, {1, 3, 1}, {2, 3, 2}});
}

Topology p3_16xlarge() { return one_bridge(8, gen3_x16, v100, hybrid_cube_mesh()); }

Topology p4d() {
  Topology topology;
  Box box(topology);
  std::vector<NodeId> numa;
  for (int socket = 0; socket < 2; ++socket) {
    numa.push_back(box.numa(socket));
    for (int i = 0; i < 2; ++i) {
      const NodeId chip = box.pcie_switch(box.bridge(numa.back()), gen3_x16);
      for (int j = 0; j < 2; ++j) box.gpu(chip, gen3_x16, a100);
      box.nic(chip, gen3_x16, gigabits_100);
    }
  }
  box.sockets(numa);
  box.nvlinks_to(box.nvswitch(), 12);
  return topology;
}

Topology p5() { return h100_box(4, gigabits_100); }

}  // namespace ringside::preset
