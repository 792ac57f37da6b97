// SPDX-License-Identifier: MIT
/// What tells of the host around the GPUs, a line each: /proc/cmdline, `df /dev/shm`, `ulimit`,
/// `lscpu`, /proc/PID/status, the environment, the kernel's messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ringside/topology/readers/text.hpp"

namespace ringside {

/// Keys and values are as printed unless said otherwise.
enum class HostFactKind {
  kernel_parameter,  ///< "iommu" -> "pt"; "" for one without a value; of /proc/cmdline
  shared_memory,     ///< of /dev/shm: "size", "available" -> bytes
  limit,             ///< "memlock" -> bytes, or "unlimited"
  processor,         ///< of lscpu: "Model name", "Socket(s)", "NUMA node(s)", "Hypervisor vendor"
  allowed_cpus,      ///< "list" -> "0-15,32"
  environment,       ///< "NCCL_P2P_DISABLE" -> "1"; "" where it is unset again
  iommu,             ///< "domain" -> "translated", "passthrough"; "state" -> "on", "off"
  driver,            ///< "version" -> "535.54.03"
  hypervisor,        ///< "flag" -> what says so
  complaint,         ///< an error that names its cause: "mapping" (of a peer's memory), "link"
                     ///< (AER), "xid", "fabric" (NVSwitch is not set up)
  process,           ///< of nvidia-smi's table: GPU's number -> "PID MEMORY_MIB NAME"
  power,             ///< of a PCIe link: "aspm" -> what is on
};

struct HostFact {
  HostFactKind kind = HostFactKind::kernel_parameter;
  std::string key, value;
  int line = 0;

  bool operator==(const HostFact&) const = default;
};

struct HostFacts {
  std::vector<HostFact> facts;
};

struct Reading;

/// One reading for all lines of a text that are of any of these kinds.
[[nodiscard]] std::vector<Reading> read_host_facts(const Text& text);

/// One for each kind: adds what line `at` of the text tells.
void read_kernel_parameters(const Text& text, std::size_t at, std::vector<HostFact>& facts);
void read_memory_limits(const Text& text, std::size_t at, std::vector<HostFact>& facts);
void read_processors(const Text& text, std::size_t at, std::vector<HostFact>& facts);
void read_environment(const Text& text, std::size_t at, std::vector<HostFact>& facts);
void read_kernel_messages(const Text& text, std::size_t at, std::vector<HostFact>& facts);

}  // namespace ringside
