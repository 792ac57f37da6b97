// SPDX-License-Identifier: MIT
/// Four or eight cards in the slots of a workstation or server.
#include <string>
#include <vector>

#include "ringside/topology/presets/box.hpp"
#include "ringside/topology/presets/makers.hpp"

namespace ringside::preset {
namespace {

const Slot gen4_x16 = {.generation = 4, .width = 16, .most_generation = 4, .most_width = 16};
const GpuModel card = {.name = "RTX 4090", .compute_capability = 89};

/// NCCL's figure for the link between sockets of Intel processors from Skylake to Ice Lake.
constexpr double socket_link = 10;
/// NCCL's figure for a PCIe 4.0 x16 link.
constexpr double gen4_link = 24;

void describe_processor(Topology& topology) {
  for (const NodeId id : topology.of_kind(NodeKind::numa_node)) {
    auto& details = topology.node(id).details;
    details["arch"] = "x86_64";
    details["vendor"] = "GenuineIntel";
    details["familyid"] = "6";
    details["modelid"] = "85";
  }
}

Topology on_two_switches(int gpus_each) {
  Topology topology;
  Box box(topology);
  const NodeId host = box.bridge(box.numa(0));
  for (int i = 0; i < 2; ++i) {
    const NodeId chip = box.pcie_switch(host, gen4_x16);
    for (int j = 0; j < gpus_each; ++j) box.gpu(chip, gen4_x16, card);
  }
  return topology;
}

/// The GPUs, by socket.
void add_two_sockets(Box& box, int gpus_each) {
  std::vector<NodeId> numa;
  for (int i = 0; i < 2; ++i) {
    numa.push_back(box.numa(i));
    const NodeId host = box.bridge(numa.back());
    for (int j = 0; j < gpus_each; ++j) box.gpu(host, gen4_x16, card);
  }
  box.sockets(numa, socket_link);
}

}  // namespace

Topology four_on_one_root() {
  Topology topology;
  Box box(topology);
  const NodeId host = box.bridge(box.numa(0));
  for (int i = 0; i < 4; ++i) box.gpu(host, gen4_x16, card);
  return topology;
}

Topology four_with_one_in_x4() {
  Topology topology;
  Box box(topology);
  const NodeId host = box.bridge(box.numa(0));
  for (int i = 0; i < 3; ++i) box.gpu(host, gen4_x16, card);
  box.gpu(host, {.generation = 4, .width = 4, .most_generation = 4, .most_width = 16}, card);
  return topology;
}

Topology four_in_nvlink_pairs() {
  Topology topology;
  Box box(topology);
  const NodeId host = box.bridge(box.numa(0));
  const GpuModel bridged = {.name = "RTX 3090", .compute_capability = 86, .nvlink_generation = 3};
  for (int i = 0; i < 4; ++i) box.gpu(host, gen4_x16, bridged);
  box.nvlinks({{0, 1, 4}, {2, 3, 4}});
  return topology;
}

Topology four_on_two_switches() { return on_two_switches(2); }
Topology eight_on_two_switches() { return on_two_switches(4); }

Topology four_on_two_sockets() {
  Topology topology;
  Box box(topology);
  add_two_sockets(box, 2);
  describe_processor(topology);
  return topology;
}

Topology eight_on_two_sockets() {
  Topology topology;
  Box box(topology);
  add_two_sockets(box, 4);
  for (const NodeId gpu : box.gpus())
    for (const LinkId each : topology.links_from(gpu)) {
      topology.link(each).bandwidth = gen4_link;
      topology.link(Topology::reverse(each)).bandwidth = gen4_link;
    }
  describe_processor(topology);
  return topology;
}

}  // namespace ringside::preset
