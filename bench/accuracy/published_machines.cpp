// SPDX-License-Identifier: MIT
#include "ringside/bench/accuracy/published_machines.hpp"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/topology/path.hpp"
#include "ringside/topology/presets/box.hpp"
#include "ringside/topology/presets/presets.hpp"

namespace ringside::bench {
namespace {

constexpr double megabits_per_gigabyte = 8000;

const GpuModel v100 = {.name = "V100", .compute_capability = 70, .nvlink_generation = 2};
const GpuModel p100 = {.name = "P100", .compute_capability = 60, .nvlink_generation = 1};
const GpuModel a100 = {.name = "A100", .compute_capability = 80, .nvlink_generation = 3};
const GpuModel h100 = {.name = "H100", .compute_capability = 90, .nvlink_generation = 4};
const GpuModel h100_pcie = {.name = "H100 PCIe", .compute_capability = 90, .nvlink_generation = 4};
const GpuModel h200 = {.name = "H200", .compute_capability = 90, .nvlink_generation = 4};
const GpuModel b200 = {.name = "B200", .compute_capability = 100, .nvlink_generation = 5};
const GpuModel rtx2080ti = {
    .name = "RTX 2080 Ti", .compute_capability = 75, .nvlink_generation = 2};
const GpuModel rtx3090 = {.name = "RTX 3090", .compute_capability = 86};
const GpuModel rtx4090 = {.name = "RTX 4090", .compute_capability = 89};
const GpuModel rtx5090 = {.name = "RTX 5090", .compute_capability = 120};
const GpuModel rtxpro = {.name = "RTX PRO 6000", .compute_capability = 120};
const GpuModel l4 = {.name = "L4", .compute_capability = 89};
const GpuModel r9700 = {.name = "R9700", .compute_capability = 0};
const GpuModel mi300x = {.name = "MI300X", .compute_capability = 0};

/// Family and model of a processor as NCCL counts them.
struct Processor {
  const char* vendor = nullptr;
  int family = 0, model = 0;
};
constexpr Processor unknown;
constexpr Processor rome{"AuthenticAMD", 143, 49}, turin{"AuthenticAMD", 191, 2};

Slot x16(int generation) { return {.generation = generation, .width = 16}; }

NodeId numa(Topology& topology, Box& box, int id, const Processor& processor) {
  const NodeId node = box.numa(id);
  if (processor.vendor == nullptr) return node;
  auto& details = topology.node(node).details;
  details["vendor"] = processor.vendor;
  details["familyid"] = std::to_string(processor.family);
  details["modelid"] = std::to_string(processor.model);
  return node;
}

/// GPUs on host bridges of their own: `gpus[i]` of them on NUMA node i.
Topology direct(const std::vector<int>& gpus, const Slot& slot, const GpuModel& model,
                const Processor& processor) {
  Topology topology;
  Box box(topology);
  std::vector<NodeId> nodes;
  for (const int here : gpus) {
    nodes.push_back(numa(topology, box, static_cast<int>(nodes.size()), processor));
    for (int i = 0; i < here; ++i) box.gpu(box.bridge(nodes.back()), slot, model);
  }
  box.sockets(nodes);
  return topology;
}

/// `gpus[i]` GPUs on host bridge i of the only NUMA node.
Topology on_bridges(const std::vector<int>& gpus, const Slot& slot, const GpuModel& model,
                    const Processor& processor) {
  Topology topology;
  Box box(topology);
  const NodeId node = numa(topology, box, 0, processor);
  for (const int here : gpus) {
    const NodeId bridge = box.bridge(node);
    for (int i = 0; i < here; ++i) box.gpu(bridge, slot, model);
  }
  return topology;
}

/// Switches on host bridges of their own.
Topology switches(const std::vector<int>& gpus, int generation, const GpuModel& model,
                  const char* vendor = nullptr) {
  Topology topology;
  Box box(topology);
  const NodeId node = box.numa(0);
  for (const int here : gpus) {
    const NodeId chip = box.pcie_switch(box.bridge(node), x16(generation));
    if (vendor != nullptr) topology.node(chip).details["vendor"] = vendor;
    for (int i = 0; i < here; ++i) box.gpu(chip, x16(generation), model);
  }
  return topology;
}

/// Switches below one switch.
Topology switch_tree(const std::vector<int>& gpus, int generation, const GpuModel& model) {
  Topology topology;
  Box box(topology);
  const NodeId top = box.pcie_switch(box.bridge(box.numa(0)), x16(generation));
  for (const int here : gpus) {
    const NodeId chip = box.pcie_switch(top, x16(generation));
    for (int i = 0; i < here; ++i) box.gpu(chip, x16(generation), model);
  }
  return topology;
}

/// Cards on one bridge, those next to each other joined by NVLink.
Topology bridged(int gpus, int generation, const GpuModel& model, int links) {
  Topology topology;
  Box box(topology);
  const NodeId node = box.numa(0);
  for (int i = 0; i < gpus; ++i) box.gpu(box.bridge(node), x16(generation), model);
  std::vector<Box::Bond> bonds;
  for (int i = 0; i + 1 < gpus; i += 2) bonds.push_back({i, i + 1, links});
  box.nvlinks(bonds);
  return topology;
}

/// Boxes that one switch of the network joins.
struct Cluster {
  int boxes = 1, gpus = 8;
  GpuModel model;
  int generation = 5;  ///< of PCIe
  int nvlinks = 18;    ///< of each GPU to the NVSwitch; 0: none
  int nics = 0, megabits = 0;
  bool nics_far = false;  ///< on the other NUMA node instead of the GPU's switch
  Processor processor = unknown;
};

void add_box(Topology& topology, const Cluster& cluster, int number, std::vector<NodeId>& nics) {
  Box box(topology, number);
  const std::vector<NodeId> nodes{numa(topology, box, 0, cluster.processor),
                                  numa(topology, box, 1, cluster.processor)};
  box.sockets(nodes);
  const int gpus_per_switch =
      cluster.nics > 0 && cluster.nics < cluster.gpus ? cluster.gpus / cluster.nics : 1;
  const int switches = cluster.gpus / gpus_per_switch;
  for (int i = 0; i < switches; ++i) {
    const auto socket = static_cast<std::size_t>(2 * i / switches);
    const NodeId chip = box.pcie_switch(box.bridge(nodes[socket]), x16(cluster.generation));
    for (int j = 0; j < gpus_per_switch; ++j) box.gpu(chip, x16(cluster.generation), cluster.model);
    for (int j = 0; j < cluster.nics / switches; ++j) {
      const NodeId parent = cluster.nics_far ? box.bridge(nodes[1 - socket]) : chip;
      nics.push_back(box.nic(parent, x16(cluster.generation), cluster.megabits));
    }
  }
  if (cluster.nvlinks > 0) box.nvlinks_to(box.nvswitch(), cluster.nvlinks);
}

Topology cluster(const Cluster& wanted) {
  Topology topology;
  std::vector<NodeId> nics;
  for (int i = 0; i < wanted.boxes; ++i) add_box(topology, wanted, i, nics);
  if (wanted.boxes == 1) return topology;
  Node node;
  node.kind = NodeKind::network_switch;
  node.name = "network";
  const NodeId network = topology.add(std::move(node));
  for (const NodeId nic : nics) {
    Link cable;
    cable.from = nic;
    cable.to = network;
    cable.kind = LinkKind::network;
    cable.bandwidth = wanted.megabits / megabits_per_gigabyte;
    topology.connect(cable);
  }
  return topology;
}

/// Eight GPUs, each joined to each by one xGMI link.
Topology full_mesh(const GpuModel& model) {
  Topology topology = direct({4, 4}, x16(5), model, unknown);
  const auto gpus = topology.gpus();
  for (std::size_t i = 0; i < gpus.size(); ++i)
    for (std::size_t j = i + 1; j < gpus.size(); ++j) {
      Link link;
      link.from = gpus[i];
      link.to = gpus[j];
      link.kind = LinkKind::xgmi;
      link.count = 1;
      topology.connect(link);
    }
  return topology;
}

/// Peer access on switches only, as NCCL uses it by default.
Topology near_access_only(Topology topology) {
  for (const NodeId from : topology.gpus())
    for (const NodeId to : topology.gpus())
      if (from != to && link_class(topology, from, to).value > LinkClass::pxb)
        topology.peer_access.push_back({.from = from, .to = to, .capability = "p", .status = "NS"});
  return topology;
}

const std::map<std::string, std::function<Topology()>>& machines() {
  const Slot gen4_x8{.generation = 4, .width = 8};
  static const std::map<std::string, std::function<Topology()>> all = {
      {"2080ti-nvlink", [] { return bridged(2, 3, rtx2080ti, 2); }},
      {"2080ti-switch", [] { return switches({2}, 3, rtx2080ti); }},
      {"3090-2-switches",
       [] {
         return switches({4, 4}, 3, rtx3090);
       }},
      {"4090-direct", [] { return direct({3}, x16(4), rtx4090, unknown); }},
      {"4090-epyc7502",
       [] {
         return on_bridges({2, 2}, x16(4), rtx4090, rome);
       }},
      {"4090-epyc7542",
       [] {
         return direct({1, 1, 1, 1, 1, 1, 1, 1}, x16(4), rtx4090, rome);
       }},
      {"5090-direct", [] { return direct({8}, x16(5), rtx5090, unknown); }},
      {"a100-4hdr-x3",
       [] {
         return cluster({.boxes = 3,
                         .model = a100,
                         .generation = 4,
                         .nvlinks = 12,
                         .nics = 4,
                         .megabits = 200'000});
       }},
      {"a100-pcie-bridges", [] { return bridged(8, 4, a100, 12); }},
      {"a100-pcie-x2",
       [] {
         return cluster({.boxes = 2,
                         .gpus = 1,
                         .model = a100,
                         .generation = 4,
                         .nvlinks = 0,
                         .nics = 1,
                         .megabits = 200'000,
                         .nics_far = true,
                         .processor = rome});
       }},
      {"b200-node", [] { return cluster({.model = b200}); }},
      {"b200-x4",
       [] { return cluster({.boxes = 4, .model = b200, .nics = 8, .megabits = 400'000}); }},
      {"g6", [gen4_x8] { return direct({4}, gen4_x8, l4, unknown); }},
      {"h100-1nic-x2",
       [] {
         return cluster(
             {.boxes = 2, .gpus = 1, .model = h100, .nvlinks = 0, .nics = 1, .megabits = 400'000});
       }},
      {"h100-pcie-nvlink", [] { return bridged(2, 5, h100_pcie, 12); }},
      {"h200-node", [] { return cluster({.model = h200}); }},
      {"mi300x", [] { return full_mesh(mi300x); }},
      {"p5x2",
       [] { return cluster({.boxes = 2, .model = h100, .nics = 32, .megabits = 100'000}); }},
      {"power8", [] { return bridged(2, 3, p100, 2); }},
      {"power9", [] { return bridged(2, 3, v100, 3); }},
      {"r9700-x2",
       [] {
         return cluster({.boxes = 2,
                         .gpus = 1,
                         .model = r9700,
                         .nvlinks = 0,
                         .nics = 1,
                         .megabits = 100'000,
                         .nics_far = true});
       }},
      {"rtx6k-3-switches",
       [] {
         return switch_tree({4, 4}, 5, rtxpro);
       }},
      {"rtx6k-4-switches",
       [] {
         return switches({2, 2, 2, 2}, 5, rtxpro);
       }},
      {"rtx6k-asus",
       [] {
         return switches({2, 2}, 5, rtxpro, "0x1000");
       }},
      {"rtx6k-asus-default",
       [] {
         return near_access_only(switches({2, 2}, 5, rtxpro, "0x1000"));
       }},
      {"rtx6k-turin",
       [] {
         return direct({4, 4}, x16(5), rtxpro, turin);
       }},
      {"rtx6k-turin-7",
       [] {
         return direct({4, 3}, x16(5), rtxpro, turin);
       }},
      {"rtx6k-wrx90",
       [] {
         return switches({4, 4}, 5, rtxpro, "0x11f8");
       }},
  };
  return all;
}

}  // namespace

Topology published_machine(const std::string& name) {
  if (const auto made = machines().find(name); made != machines().end()) return made->second();
  if (auto preset = make_preset(name)) return *preset;
  throw Error(ErrorCode::bad_input, fmt::format("there is no machine {}", quote(name)));
}

}  // namespace ringside::bench
