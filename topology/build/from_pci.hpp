// SPDX-License-Identifier: MIT
/// The machine behind a list of PCI functions, as the kernel and hwloc tell it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ringside/topology/graph.hpp"

namespace ringside {

struct PciFunction {
  PciAddress address;
  std::optional<PciAddress> parent;  ///< the bridge above; nothing: directly on the host bridge
  std::string host_bridge;           ///< "pci0000:40": its name tells host bridges apart
  std::uint32_t class_code = 0;      ///< 0x030200
  std::string vendor, device;        ///< "0x10de"
  std::optional<int> numa;           ///< nothing where the firmware does not tell
  std::optional<int> generation, width, most_generation, most_width;
  std::optional<double> bandwidth;   ///< GB/s, where only that is told
  std::optional<bool> acs_redirect;  ///< of a port, where it could be read
  std::optional<std::string> name;   ///< of a network or InfiniBand device
  std::optional<int> megabits_per_second;
};

struct PciMachine {
  std::vector<PciFunction> functions;
  std::map<int, std::string> processors;  ///< NUMA node -> list of cores "0-15"
  /// NUMA node -> "package", "processor", "memory_bytes", "l3_bytes".
  std::map<int, std::map<std::string, std::string>> numa_details;
};

/// GPUs and NICs with the switches and host bridges above them; all else is left out. Bridges come
/// in pairs: a root port and the device, or a switch's port upwards and its ports downwards, so
/// every second one is a switch. GPUs are numbered in the order of their addresses. Throws
/// Error(bad_input) when the tree is none.
[[nodiscard]] Topology topology_from_pci(const PciMachine& machine);

}  // namespace ringside
