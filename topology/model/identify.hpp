// SPDX-License-Identifier: MIT
/// Which of a model's figures the names and numbers of a node call for: GPU models, processors,
/// generations.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ringside/topology/graph.hpp"
#include "ringside/topology/model/link_model.hpp"

namespace ringside {

/// "amd-zen2", "intel-icelake", "power9", "arm", "grace"; "" where the inputs do not tell. `node`:
/// any of the tree of that processor.
[[nodiscard]] std::string processor_of(const Topology& topology, NodeId node);

/// Whether a link between NUMA nodes goes from one processor to another, or is not known to stay in
/// one (a processor may show its quarters as NUMA nodes).
[[nodiscard]] bool leaves_package(const Topology& topology, const Link& link);

/// The figure of a processor: `name.amd-zen2`, else `name.amd`, else `name`; nothing if none is.
[[nodiscard]] const Figure* figure_of_processor(const LinkModel& model, const std::string& name,
                                                const std::string& processor);

/// `prefix.rtx4090` for "NVIDIA GeForce RTX 4090": the longest that the GPU's model has in it.
[[nodiscard]] const Figure* figure_of_gpu(const LinkModel& model, std::string_view prefix,
                                          const Node& gpu);

/// At which PCIe generation a link runs: as it states, else what the GPUs below it can.
[[nodiscard]] int pcie_generation_of(const Topology& topology, const LinkModel& model, LinkId id);

/// "nvlink3", as figures of links of that generation begin; "nvlink-ga10x" for the slower ones of
/// RTX 3090 and its relatives. By what the link states, else by the GPUs at its ends, else by their
/// number: up to 6 V100, up to 12 A100, more H100.
[[nodiscard]] std::string nvlink_kind_of(const Topology& topology, const Link& link);

/// Who made a PCIe switch, where its vendor id tells: "broadcom", "microchip", "".
[[nodiscard]] std::string switch_vendor(const Node& node);

/// Compute capability times 10, where the node or its model tells.
[[nodiscard]] std::optional<int> compute_capability(const Node& gpu);

}  // namespace ringside
