// SPDX-License-Identifier: MIT
/// A machine as NCCL sees it: its own figures for links, and the rings that its search finds. What
/// its model of time (nccl_model.hpp) is fed with. Nothing here is measured, and NCCL's figures are
/// its own: one for all processors of a maker, for example.
#pragma once

#include <string>
#include <vector>

#include "ringside/topology/model/machine.hpp"

namespace ringside {

/// Rings, chains or NVLS trees side by side.
struct NcclChannels {
  int count = 0;
  double intra = 0;  ///< GB/s of each inside a box
  double inter = 0;  ///< GB/s of each between boxes; 0 for a single box

  bool operator==(const NcclChannels&) const = default;
};

enum class NcclProcessor { intel, amd, other };

struct NcclMachine {
  int ranks = 0, boxes = 1;
  int compute_capability = 80;  ///< the least, times 10
  bool same_capability = true;  ///< of all GPUs, or all are of 9.0 and later
  NcclProcessor processor = NcclProcessor::other;
  bool nvlink = false;  ///< every hop of the rings inside a box
  NcclChannels ring, tree, nvls;
  /// What no input states and NCCL would read from the machine, one line each.
  std::vector<std::string> assumptions;
};

/// All GPUs of the machine, which also says what no input tells (PCIe generations) and which pairs
/// have no peer access: these NCCL joins over the host's memory. Boxes are taken to be like the
/// first; GPUs that one NVLink fabric joins are one box. Throws Error(unsupported) for a single GPU
/// and where no ring is found (GPUs without a way between them, boxes without NICs).
[[nodiscard]] NcclMachine nccl_machine(const Machine& known);

}  // namespace ringside
