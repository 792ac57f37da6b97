// SPDX-License-Identifier: MIT
/// The smallest machine that has the classes of a matrix.
#pragma once

#include <optional>
#include <vector>

#include "ringside/topology/graph.hpp"
#include "ringside/topology/readers/finding.hpp"
#include "ringside/topology/readers/link_matrix.hpp"

namespace ringside {

/// What matrices of one machine say together.
struct MergedMatrix {
  LinkMatrix links;  ///< of `topo -m`; that of `-mp` if there is no other
  /// names x names: how near over PCIe; nothing where NVLink hides it and no `-mp` tells.
  std::vector<std::optional<LinkClass>> pcie;
};

/// Throws Error(bad_input) when they cannot be of one machine.
[[nodiscard]] MergedMatrix merge_matrices(const std::vector<const LinkMatrix*>& matrices);

/// PIX groups share a switch, PXB groups a switch above theirs, PHB groups a host bridge, NODE
/// groups a NUMA node; NUMA nodes are all joined. GPUs with more NVLinks than any has hang on an
/// NVSwitch. All but the devices is marked as inferred. Throws Error(bad_input) when no tree has
/// these classes.
[[nodiscard]] Topology topology_from_matrix(const MergedMatrix& matrix,
                                            std::vector<Finding>& findings);

/// Adds the NVLinks of a matrix to a topology that has its GPUs and no NVLinks.
void add_nvlinks(const LinkMatrix& matrix, Topology& topology, std::vector<Finding>& findings);

}  // namespace ringside
