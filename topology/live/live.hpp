// SPDX-License-Identifier: MIT
/// This machine.
#pragma once

#include <string>

#include "ringside/topology/build/build_topology.hpp"

namespace ringside {

struct LiveSources {
  std::string root;                        ///< in front of /sys; "" for this machine
  std::string nvml = "libnvidia-ml.so.1";  ///< the NVIDIA driver's management library
};

/// What kernel and driver tell. Works without any GPU, and says what is missing in the findings.
[[nodiscard]] BuiltTopology read_live(const LiveSources& sources = {});

}  // namespace ringside
