// SPDX-License-Identifier: MIT
/// What the system's tree of PCI devices says of a GPU.
#pragma once

#include <string>

#include "ringside/bench/preflight/facts.hpp"

namespace ringside::bench::preflight {

/// Adds NUMA node and PCIe link to a device by its pci_bus_id, as far as the files can be read.
void add_sysfs_facts(DeviceFacts& device, const std::string& folder = "/sys/bus/pci/devices");

}  // namespace ringside::bench::preflight
