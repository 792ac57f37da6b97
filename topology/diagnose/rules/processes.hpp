// SPDX-License-Identifier: MIT
/// The table of processes that nvidia-smi prints.
#pragma once

#include <string>
#include <vector>

#include "ringside/topology/diagnose/rule.hpp"

namespace ringside {

/// A process on a GPU; one that is on several GPUs is there several times.
struct GpuProcess {
  int gpu = 0, pid = 0, mib = 0;
  std::string name;
  ShownLine line;
};

/// Those that compute: without what draws the screen.
[[nodiscard]] std::vector<GpuProcess> gpu_processes(const Evidence& evidence);

}  // namespace ringside
