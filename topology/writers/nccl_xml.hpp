// SPDX-License-Identifier: MIT
/// A topology as the XML that NCCL_TOPO_FILE takes.
#pragma once

#include <string>

#include "ringside/topology/graph.hpp"

namespace ringside {

/// Stays in the subset of XML that NCCL's parser knows: no prolog, two blanks of indentation, one
/// blank between attributes, attributes in NCCL's order. Switches without a bus id get one that no
/// device has (ffff:ff:01.0 and on), as cloud providers do; host bridges are left out; what is not
/// known of a link is written as NCCL writes it (link_speed="", link_width="0"). Throws
/// Error(unsupported) when a GPU has no bus id, when the topology has no NUMA nodes, or has more
/// than one box without their host hashes: NCCL could not use such a file.
[[nodiscard]] std::string nccl_xml(const Topology& topology);

}  // namespace ringside
