// SPDX-License-Identifier: MIT
/// Writing down a machine in a few lines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ringside/topology/graph.hpp"

namespace ringside {

/// The PCIe of a slot.
struct Slot {
  std::optional<int> generation, width;
  std::optional<int> most_generation = {}, most_width = {};
};

/// A GPU model, as far as topologies care.
struct GpuModel {
  std::string name;
  int compute_capability = 0;  ///< times 10
  std::optional<int> nvlink_generation = {};
  Origin origin = Origin::read;
};

/// Builds one box of a topology. Devices get bus ids in the order in which they are added.
class Box {
 public:
  /// Names get the box's number in front of them where there are several.
  explicit Box(Topology& topology, int box = 0) : topology_(topology), box_(box) {}

  NodeId numa(int id);
  /// A host bridge of the NUMA node.
  NodeId bridge(NodeId numa);
  /// A switch under a host bridge or a switch.
  NodeId pcie_switch(NodeId parent, const Slot& uplink);
  /// GPUs are numbered in the order in which they are added.
  NodeId gpu(NodeId parent, const Slot& slot, const GpuModel& model);
  NodeId nic(NodeId parent, const Slot& slot, int megabits_per_second);
  NodeId nvswitch();

  /// `bandwidth` in GB/s per direction, where the preset states one.
  void socket(NodeId a, NodeId b, std::optional<double> bandwidth = {});
  void nvlink(NodeId a, NodeId b, int count);
  /// All pairs of NUMA nodes.
  void sockets(const std::vector<NodeId>& numa_nodes, std::optional<double> bandwidth = {});
  /// GPU pairs with their numbers of NVLinks.
  struct Bond {
    int first, second, count;
  };
  void nvlinks(const std::vector<Bond>& bonds);
  /// Every GPU of the box to the switch.
  void nvlinks_to(NodeId nvswitch, int count);

  [[nodiscard]] const std::vector<NodeId>& gpus() const { return gpus_; }
  [[nodiscard]] const std::vector<NodeId>& nics() const { return nics_; }

  [[nodiscard]] static std::string name_in(int box, const std::string& name);

 private:
  NodeId add(NodeKind kind, const std::string& name, std::optional<int> number);
  void attach(NodeId child, NodeId parent, const Slot& slot, LinkKind kind, Origin origin);
  [[nodiscard]] PciAddress next_address();

  Topology& topology_;
  int box_;
  int next_bus_ = 0, bridges_ = 0, switches_ = 0, nvswitches_ = 0;
  std::vector<NodeId> gpus_, nics_;
  std::optional<int> nvlink_generation_;
};

/// The NVLinks of 8 V100 in a DGX-1, six a GPU.
[[nodiscard]] std::vector<Box::Bond> hybrid_cube_mesh();

}  // namespace ringside
