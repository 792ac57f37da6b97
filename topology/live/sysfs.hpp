// SPDX-License-Identifier: MIT
/// The PCI tree of this machine, from the kernel's files.
#pragma once

#include <string>
#include <vector>

#include "ringside/topology/build/from_pci.hpp"
#include "ringside/topology/readers/finding.hpp"

namespace ringside {

/// Reads `root`/sys/devices/pci*; `root` is "" for this machine, and a folder for tests. Files that
/// are missing or cannot be read leave facts unknown; what that means is said in the findings.
[[nodiscard]] PciMachine read_sysfs(const std::string& root, std::vector<Finding>& findings);

}  // namespace ringside
