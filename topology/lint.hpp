// SPDX-License-Identifier: MIT
/// What is odd or broken in topology inputs, beyond what reading them needs: each with its place
/// and the reason.
#pragma once

#include <span>
#include <vector>

#include "ringside/topology/graph.hpp"
#include "ringside/topology/readers/finding.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {

/// What NCCL would refuse, ignore or misread in a topology file: elements in wrong places, missing
/// attributes, links that one end does not know of, unknown speeds, the limit on elements. See
/// NCCL's src/graph/xml.cc for the rules.
[[nodiscard]] std::vector<Finding> lint_nccl_xml(const NcclXml& xml);

/// What NCCL's own small parser does not understand in the text of such a file: a prolog, tabs,
/// several blanks between attributes, text between elements.
[[nodiscard]] std::vector<Finding> lint_nccl_text(const Text& text);

/// Oddities of a matrix: NVLink bridges with fewer links than others, GPUs of one NUMA node that
/// are SYS apart, affinities that differ within a group.
[[nodiscard]] std::vector<Finding> lint_link_matrix(const LinkMatrix& matrix);

/// Oddities of the machine: slots narrower than what the card can do, ACS redirection, peers that
/// the driver keeps apart (a warning where they are near).
[[nodiscard]] std::vector<Finding> lint_topology(const Topology& topology);

}  // namespace ringside
