// SPDX-License-Identifier: MIT
#include "ringside/topology/presets/box.hpp"

#include <fmt/format.h>

namespace ringside {

std::string Box::name_in(int box, const std::string& name) {
  return box == 0 ? name : fmt::format("box{}/{}", box, name);
}

NodeId Box::add(NodeKind kind, const std::string& name, std::optional<int> number) {
  Node node;
  node.kind = kind;
  node.name = name_in(box_, name);
  node.box = box_;
  node.number = number;
  return topology_.add(std::move(node));
}

PciAddress Box::next_address() {
  ++next_bus_;
  return {.domain = static_cast<std::uint32_t>(next_bus_ >> 8),
          .bus = static_cast<std::uint8_t>(next_bus_ & 0xff),
          .device = 0,
          .function = 0};
}

void Box::attach(NodeId child, NodeId parent, const Slot& slot, LinkKind kind, Origin origin) {
  Link link;
  link.from = child;
  link.to = parent;
  link.kind = kind;
  link.generation = slot.generation;
  link.width = slot.width;
  link.most_generation = slot.most_generation;
  link.most_width = slot.most_width;
  link.origin = origin;
  topology_.connect(link);
}

NodeId Box::numa(int id) { return add(NodeKind::numa_node, fmt::format("numa{}", id), id); }

NodeId Box::bridge(NodeId numa) {
  const NodeId id = add(NodeKind::host_bridge, fmt::format("host{}", bridges_++), std::nullopt);
  attach(id, numa, {}, LinkKind::internal, Origin::read);
  return id;
}

NodeId Box::pcie_switch(NodeId parent, const Slot& uplink) {
  const NodeId id = add(NodeKind::pcie_switch, fmt::format("switch{}", switches_++), std::nullopt);
  topology_.node(id).address = next_address();
  attach(id, parent, uplink, LinkKind::pcie, Origin::read);
  return id;
}

NodeId Box::gpu(NodeId parent, const Slot& slot, const GpuModel& model) {
  const int number = static_cast<int>(gpus_.size());
  const NodeId id = add(NodeKind::gpu, fmt::format("GPU{}", number), number);
  Node& node = topology_.node(id);
  node.address = next_address();
  if (!model.name.empty()) node.model = model.name;
  node.details["gpu.sm"] = std::to_string(model.compute_capability);
  node.details["gpu.dev"] = std::to_string(number);
  nvlink_generation_ = model.nvlink_generation;
  attach(id, parent, slot, LinkKind::pcie, model.origin);
  gpus_.push_back(id);
  return id;
}

NodeId Box::nic(NodeId parent, const Slot& slot, int megabits_per_second) {
  const int number = static_cast<int>(nics_.size());
  const NodeId id = add(NodeKind::nic, fmt::format("NIC{}", number), number);
  Node& node = topology_.node(id);
  node.address = next_address();
  node.details["net0.name"] = fmt::format("mlx5_{}", number);
  node.details["net0.dev"] = std::to_string(number);
  node.details["net0.speed"] = std::to_string(megabits_per_second);
  attach(id, parent, slot, LinkKind::pcie, Origin::read);
  nics_.push_back(id);
  return id;
}

NodeId Box::nvswitch() {
  return add(NodeKind::nvswitch, fmt::format("nvswitch{}", nvswitches_++), std::nullopt);
}

void Box::socket(NodeId a, NodeId b, std::optional<double> bandwidth) {
  Link link;
  link.from = a;
  link.to = b;
  link.kind = LinkKind::socket;
  link.bandwidth = bandwidth;
  topology_.connect(link);
}

void Box::sockets(const std::vector<NodeId>& numa_nodes, std::optional<double> bandwidth) {
  for (std::size_t i = 0; i < numa_nodes.size(); ++i)
    for (std::size_t j = i + 1; j < numa_nodes.size(); ++j)
      socket(numa_nodes[i], numa_nodes[j], bandwidth);
}

void Box::nvlink(NodeId a, NodeId b, int count) {
  Link link;
  link.from = a;
  link.to = b;
  link.kind = LinkKind::nvlink;
  link.generation = nvlink_generation_;
  link.count = count;
  topology_.connect(link);
}

void Box::nvlinks(const std::vector<Bond>& bonds) {
  for (const auto& bond : bonds)
    nvlink(gpus_.at(static_cast<std::size_t>(bond.first)),
           gpus_.at(static_cast<std::size_t>(bond.second)), bond.count);
}

void Box::nvlinks_to(NodeId nvswitch, int count) {
  for (const NodeId gpu : gpus_) nvlink(gpu, nvswitch, count);
}

std::vector<Box::Bond> hybrid_cube_mesh() {
  return {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1}, {1, 5, 2}, {2, 3, 2},
          {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};
}

}  // namespace ringside
