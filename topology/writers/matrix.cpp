// SPDX-License-Identifier: MIT
#include "ringside/topology/writers/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace ringside {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> affinity = {
    {{"cpu_affinity", "CPU Affinity"},
     {"numa_affinity", "NUMA Affinity"},
     {"gpu_numa_id", "GPU NUMA ID"}}};

constexpr std::string_view legend_of_pcie =
    "  X    = Self\n"
    "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes\n"
    "  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges "
    "within "
    "a NUMA node\n"
    "  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)\n"
    "  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host "
    "Bridge)\n"
    "  PIX  = Connection traversing at most a single PCIe bridge\n";
constexpr std::string_view legend_of_nvlink =
    "  NV#  = Connection traversing a bonded set of # NVLinks\n";

std::vector<NodeId> devices_of(const Topology& topology) {
  std::vector<NodeId> devices = topology.gpus();
  const auto nics = topology.nics();
  devices.insert(devices.end(), nics.begin(), nics.end());
  std::erase_if(devices, [&](NodeId id) { return topology.node(id).box != 0; });
  return devices;
}

/// What nvidia-smi printed; the NUMA node's number where the device's place was read elsewhere.
std::optional<std::string> affinity_cell(const Topology& topology, NodeId id,
                                         std::string_view key) {
  const Node& node = topology.node(id);
  if (const auto known = node.details.find(std::string(key)); known != node.details.end())
    return known->second;
  const auto up = topology.link_up(id);
  if (!up || topology.link(*up).origin == Origin::inferred) return std::nullopt;
  const Node& root = topology.node(topology.root(id));
  if (key == "numa_affinity" && root.kind == NodeKind::numa_node && root.number)
    return std::to_string(*root.number);
  return std::nullopt;
}

/// PHB stands for NODE too where an input (NCCL's XML) does not tell them apart.
bool has_cell(const PairClass& pair) {
  return pair.decided() || (pair.at_least == LinkClass::phb && pair.at_most == LinkClass::node);
}

}  // namespace

std::string matrix_text(const Topology& topology, const MatrixStyle& style) {
  const auto devices = devices_of(topology);
  std::string text;
  for (const NodeId id : devices) text += "\t" + topology.node(id).name;
  std::vector<std::string_view> columns;
  for (const auto& column : affinity) {
    const auto known = [&](NodeId id) {
      return topology.node(id).kind == NodeKind::gpu && affinity_cell(topology, id, column.first);
    };
    if (std::ranges::none_of(devices, known)) continue;
    columns.push_back(column.first);
    text += fmt::format("\t{}", column.second);
  }
  text += "\n";
  for (const NodeId row : devices) {
    text += topology.node(row).name;
    for (const NodeId column : devices) {
      const auto pair = link_class(topology, row, column, style.medium);
      text += row == column ? "\t X " : "\t" + (has_cell(pair) ? to_string(pair) : "?");
    }
    const auto is_known = [&](std::string_view key) {
      return affinity_cell(topology, row, key).has_value();
    };
    if (topology.node(row).kind == NodeKind::gpu && std::ranges::any_of(columns, is_known))
      for (const auto key : columns) text += "\t" + affinity_cell(topology, row, key).value_or("");
    text += "\n";
  }
  if (!style.legend) return text;
  text += fmt::format("\nLegend:\n\n{}{}", legend_of_pcie,
                      style.medium == Medium::any ? legend_of_nvlink : "\n");
  std::string nics;
  for (const NodeId id : topology.nics())
    if (const auto device = topology.node(id).details.find("legend");
        device != topology.node(id).details.end())
      nics += fmt::format("  {}: {}\n", topology.node(id).name, device->second);
  return nics.empty() ? text : text + "\nNIC Legend:\n\n" + nics;
}

}  // namespace ringside
