// SPDX-License-Identifier: MIT
/// The machine that an NCCL or RCCL topology file describes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/topology/graph.hpp"
#include "ringside/topology/readers/finding.hpp"
#include "ringside/topology/readers/nccl_xml.hpp"

namespace ringside {

/// `cpu` elements become NUMA nodes, `pci` elements switches and devices; the files know no host
/// bridges. What NCCL would look up itself (GPUs without a `gpu` element) is taken from the PCI
/// class. Attributes that have no place of their own are kept as details: "class", "vendor", ...
/// of `pci`; "gpu.sm", "gpu.rank", ... of `gpu`; "net0.name", ... of `net`. Throws Error(bad_input)
/// when two devices claim one bus id.
[[nodiscard]] Topology topology_from_xml(const NcclXml& xml, std::vector<Finding>& findings);

/// "16.0 GT/s PCIe" -> 4; nothing for "" and what is no speed of PCIe.
[[nodiscard]] std::optional<int> pcie_generation(std::string_view link_speed);
/// 4 -> "16.0 GT/s PCIe"; "" for nothing.
[[nodiscard]] std::string pcie_link_speed(std::optional<int> generation);

/// The PCI class that devices of a kind have, "" for kinds that are none. Details leave it out.
[[nodiscard]] std::string_view usual_pci_class(NodeKind kind);

}  // namespace ringside
