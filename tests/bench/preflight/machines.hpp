// SPDX-License-Identifier: MIT
/// Made-up machines for the tests of the preflight.
#pragma once

#include <fmt/format.h>

#include <string>

#include "ringside/bench/preflight/facts.hpp"

namespace ringside::tests {

/// `count` devices called "<name> i"; all may access each other, or none.
inline bench::preflight::Facts machine_of(int count, bool access = true,
                                          const std::string& name = "GPU") {
  bench::preflight::Facts facts;
  facts.driver_version = 13000;
  facts.runtime_version = 12080;
  facts.allowed_cpus = "0-3";
  for (int i = 0; i < count; ++i)
    facts.devices.push_back({.device = i,
                             .name = fmt::format("{} {}", name, i),
                             .pci_bus_id = fmt::format("0000:{:02x}:00.0", 16 + i),
                             .compute_major = 9,
                             .compute_minor = 0,
                             .memory_bytes = std::uint64_t{80} << 30,
                             .copy_engines = 3,
                             .numa_node = i / 2,
                             .link = {.speed = "2.5 GT/s PCIe", .width = 8},
                             .link_most = {.speed = std::nullopt, .width = 16}});
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < count; ++j)
      if (i != j)
        facts.peers.push_back({.device = i,
                               .peer = j,
                               .can_access = access,
                               .performance_rank = access ? std::optional(0) : std::nullopt,
                               .access_supported = access ? 1 : 0,
                               .native_atomic_supported = 0,
                               .array_access_supported = 0});
  return facts;
}

}  // namespace ringside::tests
