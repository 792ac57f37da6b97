// SPDX-License-Identifier: MIT
/// The kinds of evidence that rules look at, and how a person gets each.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringside {

enum class Input {
  topology_matrix,       ///< how GPUs are linked: topo -m, an XML file, a live machine
  peer_matrix,           ///< whether the driver allows peer access
  pcie_links,            ///< widths and generations
  access_control,        ///< ACSCtl of bridges
  kernel_command_line,   ///< iommu=...
  shared_memory,         ///< df /dev/shm
  limits,                ///< ulimit
  processors,            ///< lscpu
  bound_processors,      ///< of the process: Cpus_allowed_list
  bar1,                  ///< sizes of BAR1
  pair_bandwidth,        ///< measured between GPUs, with and without peer access
  verified_copies,       ///< copies whose data were compared
  host_bandwidth,        ///< measured between GPUs and the host's memory
  concurrent_bandwidth,  ///< measured while several pairs move data
  collective,            ///< a table of nccl-tests or our bench
  nccl_log,
  nvlink_status,
  processes,   ///< on the GPUs
  kernel_log,  ///< dmesg
};

/// All of them, in the order in which they settle most.
[[nodiscard]] const std::vector<Input>& all_inputs();
/// "the peer access matrix".
[[nodiscard]] std::string_view name_of(Input input);
/// What to run, on so many GPUs (N where it is not known): "nvidia-smi topo -p2p r".
[[nodiscard]] std::string command_for(Input input, std::optional<int> gpus);

}  // namespace ringside
