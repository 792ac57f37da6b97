// SPDX-License-Identifier: MIT
/// This machine as evidence.
#pragma once

#include <span>
#include <string>

#include "ringside/topology/diagnose/evidence.hpp"
#include "ringside/topology/live/live.hpp"

namespace ringside {

/// What the machine tells: devices and links as read_live finds them, and of the host the kernel's
/// command line, its IOMMU, the processors, /dev/shm, and the limits and processors of this
/// process. `inputs` are files as load_evidence takes them, but no presets: measurements and logs
/// of this machine. Throws Error(bad_input) when they are of another one.
[[nodiscard]] Evidence live_evidence(const LiveSources& sources,
                                     std::span<const std::string> inputs);

}  // namespace ringside
