// SPDX-License-Identifier: MIT
/// What the NVIDIA driver knows, through its management library, opened at run time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ringside/topology/graph.hpp"
#include "ringside/topology/readers/finding.hpp"

namespace ringside {

struct NvmlGpu {
  int index = 0;
  std::string name;
  std::optional<PciAddress> address;
  std::map<PciAddress, int> links;  ///< active NVLinks by the device at the other end
};

/// The GPUs of the driver, by a library of that name. Nothing where it cannot be opened or refuses,
/// with a finding that says so.
[[nodiscard]] std::vector<NvmlGpu> read_nvml(const std::string& library,
                                             std::vector<Finding>& findings);

/// Names, numbers and NVLinks, put in a topology that has the GPUs' addresses. What is at the other
/// end of a link and no GPU of it is an NVSwitch.
void add_nvml(const std::vector<NvmlGpu>& gpus, Topology& topology, std::vector<Finding>& findings);

}  // namespace ringside
