// SPDX-License-Identifier: MIT
/// The facts about this machine and this program that a measurement must be read with.
#pragma once

#include <cstdint>
#include <string>

namespace ringside::bench {

/// Unknown texts are "unknown", unknown numbers 0.
struct Machine {
  std::string host_name;
  std::string processor;      ///< model
  int cores = 0;              ///< logical ones, online
  int allowed_cores = 0;      ///< that this process may use
  std::uint64_t memory = 0;   ///< bytes
  std::string kernel;         ///< "Linux 6.1.0-18-amd64"
  std::string compiler;       ///< that built this program
  std::string kernels;        ///< instruction set of the reduction kernels
  std::string version;        ///< of Ringside
  std::string source_commit;  ///< the commit it was built from, "-dirty" behind if changed
};

/// Reads them. Nothing of the environment, no users, addresses or serial numbers.
[[nodiscard]] Machine read_machine();

/// The date and time of day, UTC, as ISO 8601 has them: "2026-03-01T12:00:00Z".
[[nodiscard]] std::string utc_now();

/// Bytes that a process can still get: free or reclaimable memory, or what is left of the control
/// group's limit where that is less; 0 when unknown.
[[nodiscard]] std::uint64_t available_memory();

}  // namespace ringside::bench
