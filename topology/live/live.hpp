// SPDX-License-Identifier: MIT
/// This machine.
#pragma once

#include <string>
#include <vector>

#include "ringside/topology/build/build_topology.hpp"

namespace ringside {

struct LiveSources {
  std::string root;  ///< in front of /sys; "" for this machine
  std::string nvml =
      "libnvidia-ml.so.1";               ///< the NVIDIA driver's management library; "": not asked
  std::string hwloc = "libhwloc.so.15";  ///< version 2; "": not asked
  /// The CUDA runtime: the first that is there; none: not asked.
  std::vector<std::string> cuda = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0",
                                   "libcudart.so"};
};

/// What kernel, hwloc, driver and CUDA runtime tell. Works without any GPU, and says what is
/// missing in the findings.
[[nodiscard]] BuiltTopology read_live(const LiveSources& sources = {});

}  // namespace ringside
