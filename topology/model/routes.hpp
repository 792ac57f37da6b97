// SPDX-License-Identifier: MIT
/// The routes of a machine's data: between GPUs, over the NICs where they are in different boxes,
/// and between a GPU and its host's memory.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ringside/topology/path.hpp"

namespace ringside {

/// A route and the part of the bytes that take it.
struct RouteShare {
  Route route;
  double share = 1;
};

/// Directly or over one switch of NVLink or xGMI.
[[nodiscard]] bool joined_by_fabric(const Topology& topology, NodeId from, NodeId to);

class Routes {
 public:
  /// The topology must outlive it and stay as it is. Throws Error(bad_input) where two GPUs are not
  /// connected at all.
  explicit Routes(const Topology& topology);

  /// Between two GPUs: as `route` finds it; between boxes over the NICs that are nearest to each.
  /// A GPU that has several to itself spreads its data over them; GPUs that are equally near to
  /// several take one each, in their order (NCCL's rails). Throws Error(bad_input) where there is
  /// no way.
  [[nodiscard]] std::vector<RouteShare> between(NodeId from, NodeId to);

  /// From a GPU up to the memory of its processor: over a chip-to-chip link where it has one. Empty
  /// where nothing is above it.
  [[nodiscard]] Route to_host(NodeId gpu) const;
  /// Where that memory is: a NUMA node, or the highest node that is known.
  [[nodiscard]] NodeId host_of(NodeId gpu) const;
  /// From one NUMA node to another of its box; empty for one and the same or where no link is
  /// known.
  [[nodiscard]] Route between_hosts(NodeId from, NodeId to) const;

 private:
  void check_connected() const;
  void assign_nics();
  void assign_nics_of(std::vector<NodeId> gpus, const std::vector<NodeId>& nics);
  [[nodiscard]] std::optional<std::vector<RouteShare>> over_nics(NodeId from, NodeId to);
  [[nodiscard]] std::optional<Route> network_route(NodeId from, NodeId to);
  [[nodiscard]] Route inside_box(NodeId from, NodeId to) const;

  const Topology& topology_;
  std::vector<std::vector<NodeId>> nics_;  // by node of a GPU
  // Breadth-first search over cables: which link a node was reached by in search number...
  std::vector<LinkId> reached_by_;
  std::vector<std::uint32_t> reached_in_;
  std::uint32_t search_ = 0;
};

}  // namespace ringside
