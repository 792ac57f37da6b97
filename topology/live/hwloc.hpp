// SPDX-License-Identifier: MIT
/// This machine as the hwloc library sees it: packages, caches and memory of NUMA nodes, and a PCI
/// tree where the kernel's files are hidden.
///
/// The library is opened when it is there and not linked: what is asked of it is one text, its XML,
/// which the reader of hwloc's files understands already; so Ringside neither needs it to build nor
/// to run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ringside/topology/build/from_pci.hpp"
#include "ringside/topology/readers/finding.hpp"

namespace ringside {

/// Nothing where the library cannot be opened or does not answer, with a finding that says so. The
/// library obeys its own variables, such as HWLOC_XMLFILE.
[[nodiscard]] std::optional<PciMachine> read_hwloc(const std::string& library,
                                                   std::vector<Finding>& findings);

/// Adds what the kernel's files do not tell; they have precedence.
void add_hwloc(const PciMachine& hwloc, PciMachine& machine);

}  // namespace ringside
