// SPDX-License-Identifier: MIT
/// What the system's tree of PCI devices says of a GPU.
#pragma once

#include <string>

#include "ringside/bench/preflight/facts.hpp"

namespace ringside::bench::preflight {

inline constexpr const char* pci_folder = "/sys/bus/pci/devices";

/// The link of a device as it is now: an idle one is slower than it can.
[[nodiscard]] Link read_link(const std::string& pci_bus_id, const std::string& folder = pci_folder);

/// Adds NUMA node and PCIe link to a device by its pci_bus_id, as far as the files can be read.
void add_sysfs_facts(DeviceFacts& device, const std::string& folder = pci_folder);

}  // namespace ringside::bench::preflight
