// SPDX-License-Identifier: MIT
/// Machines whose GPUs are joined by NVLink, and clusters of them.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ringside/topology/presets/box.hpp"
#include "ringside/topology/presets/makers.hpp"

namespace ringside::preset {
namespace {

const GpuModel v100 = {.name = "V100-SXM2", .compute_capability = 70, .nvlink_generation = 2};
const GpuModel a100 = {.name = "A100-SXM4", .compute_capability = 80, .nvlink_generation = 3};
const GpuModel h100 = {.name = "H100-SXM5", .compute_capability = 90, .nvlink_generation = 4};
const GpuModel gb200 = {.name = "GB200", .compute_capability = 100, .nvlink_generation = 5};
const Slot gen3_x16 = {.generation = 3, .width = 16};
const Slot gen4_x16 = {.generation = 4, .width = 16};
const Slot gen5_x16 = {.generation = 5, .width = 16};

/// Boxes that share the leaf switches of a pod.
constexpr int boxes_per_pod = 16;
constexpr int gigabits_100 = 100'000, gigabits_200 = 200'000, gigabits_400 = 400'000;
constexpr double bits_per_byte = 8;

/// GPU i and its share of the NICs on a switch of their own, under a switch for each pair.
void add_a100_box(Box& box, const std::vector<int>& numa_ids) {
  std::vector<NodeId> numa;
  for (const int id : numa_ids) {
    numa.push_back(box.numa(id));
    const NodeId upper = box.pcie_switch(box.bridge(numa.back()), gen4_x16);
    for (int i = 0; i < 2; ++i) box.gpu(box.pcie_switch(upper, gen4_x16), gen4_x16, a100);
    for (int i = 0; i < 2; ++i) box.nic(box.pcie_switch(upper, gen4_x16), gen4_x16, gigabits_200);
  }
  box.sockets(numa);
  box.nvlinks_to(box.nvswitch(), 12);
}

NodeId add_network_switch(Topology& topology, const std::string& name) {
  Node node;
  node.kind = NodeKind::network_switch;
  node.name = name;
  return topology.add(std::move(node));
}

void cable(Topology& topology, NodeId from, NodeId to, double bandwidth) {
  Link link;
  link.from = from;
  link.to = to;
  link.kind = LinkKind::network;
  link.bandwidth = bandwidth;
  topology.connect(link);
}

}  // namespace

Topology dgx1v() {
  Topology topology;
  Box box(topology);
  std::vector<NodeId> numa;
  for (int socket = 0; socket < 2; ++socket) {
    numa.push_back(box.numa(socket));
    const NodeId host = box.bridge(numa.back());
    for (int i = 0; i < 2; ++i) {
      const NodeId chip = box.pcie_switch(host, gen3_x16);
      for (int j = 0; j < 2; ++j) box.gpu(chip, gen3_x16, v100);
      box.nic(chip, gen3_x16, gigabits_100);
    }
  }
  box.sockets(numa);
  box.nvlinks(hybrid_cube_mesh());
  return topology;
}

Topology dgx_a100() {
  Topology topology;
  Box box(topology);
  add_a100_box(box, {3, 1, 7, 5});
  return topology;
}

Topology h100_box(int nics_per_gpu, int megabits_per_second) {
  Topology topology;
  Box box(topology);
  std::vector<NodeId> numa;
  for (int socket = 0; socket < 2; ++socket) {
    numa.push_back(box.numa(socket));
    for (int i = 0; i < 4; ++i) {
      const NodeId chip = box.pcie_switch(box.bridge(numa.back()), gen5_x16);
      box.gpu(chip, gen5_x16, h100);
      for (int j = 0; j < nics_per_gpu; ++j) box.nic(chip, gen5_x16, megabits_per_second);
    }
  }
  box.sockets(numa);
  box.nvlinks_to(box.nvswitch(), 18);
  return topology;
}

Topology dgx_h100() { return h100_box(1, gigabits_400); }

/// 18 trays of two Grace processors with two GPUs each; all GPUs on one NVLink fabric.
Topology nvl72() {
  Topology topology;
  constexpr int trays = 18;
  std::vector<NodeId> gpus;
  for (int tray = 0; tray < trays; ++tray) {
    Box box(topology, tray);
    std::vector<NodeId> numa;
    for (int i = 0; i < 2; ++i) {
      numa.push_back(box.numa(i));
      for (int j = 0; j < 2; ++j) {
        const NodeId gpu = box.gpu(box.bridge(numa.back()), gen5_x16, gb200);
        Link link;
        link.from = gpu;
        link.to = numa.back();
        link.kind = LinkKind::c2c;
        topology.connect(link);
        gpus.push_back(gpu);
      }
    }
    box.sockets(numa);
  }
  Box rack(topology);
  const NodeId fabric = rack.nvswitch();
  for (const NodeId gpu : gpus) {
    Link link;
    link.from = gpu;
    link.to = fabric;
    link.kind = LinkKind::nvlink;
    link.generation = gb200.nvlink_generation;
    link.count = 18;
    topology.connect(link);
  }
  return topology;
}

/// A leaf switch for each NIC of a box, shared by the boxes of a pod; a spine that takes all that a
/// leaf can send.
Topology fat_tree(int boxes) {
  Topology topology;
  std::vector<std::vector<NodeId>> nics;
  for (int i = 0; i < boxes; ++i) {
    Box box(topology, i);
    add_a100_box(box, {3, 1, 7, 5});
    nics.push_back(box.nics());
  }
  const double nic_bandwidth = gigabits_200 / (1000 * bits_per_byte);
  const int pods = (boxes + boxes_per_pod - 1) / boxes_per_pod;
  const NodeId spine = pods > 1 || boxes > 1 ? add_network_switch(topology, "spine") : -1;
  for (int pod = 0; pod < pods; ++pod) {
    const int first = pod * boxes_per_pod;
    const int last = std::min(boxes, first + boxes_per_pod);
    for (std::size_t rail = 0; rail < nics.front().size(); ++rail) {
      const NodeId leaf = add_network_switch(topology, fmt::format("leaf{}.{}", pod, rail));
      for (int i = first; i < last; ++i)
        cable(topology, nics[static_cast<std::size_t>(i)][rail], leaf, nic_bandwidth);
      if (spine >= 0) cable(topology, leaf, spine, nic_bandwidth * (last - first));
    }
  }
  return topology;
}

}  // namespace ringside::preset
