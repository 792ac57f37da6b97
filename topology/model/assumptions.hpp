// SPDX-License-Identifier: MIT
/// What the figures of a machine rest on that no input tells: a pasted matrix has neither PCIe
/// generations nor models of GPUs and processors.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ringside/topology/graph.hpp"
#include "ringside/topology/model/link_model.hpp"

namespace ringside {

struct Assumption {
  std::string what;                 ///< "PCIe 4.0 x16 (8 links)"
  std::string tell;                 ///< how to say what is so: "--what-if pcie=genN"
  std::vector<LinkId> links;        ///< that have their bandwidths by it, one direction of each
  bool of_links_that_lack = false;  ///< links may be missing

  bool operator==(const Assumption&) const = default;
};

/// Of all that data between GPUs may take; empty where the inputs tell it all.
[[nodiscard]] std::vector<Assumption> assumptions_of(const Topology& topology,
                                                     const LinkModel& model);

/// A file of buses, as clouds give NCCL for their guests: GPUs without anything but their
/// addresses.
[[nodiscard]] bool lists_only_buses(const Topology& topology);

/// One line: "assumed, not told: ...; tell with ..."; empty where nothing is assumed.
[[nodiscard]] std::string assumptions_text(std::span<const Assumption> assumptions);

/// Whether the bandwidth of one of these links, or whether there are others, is among them.
[[nodiscard]] bool any_is_assumed(std::span<const Assumption> assumptions,
                                  std::span<const LinkId> links);

}  // namespace ringside
