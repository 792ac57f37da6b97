// SPDX-License-Identifier: MIT
/// Orders of ranks that leave NVLink though another would stay on it.
#pragma once

#include <span>
#include <string>

#include "ringside/collectives/spec.hpp"
#include "ringside/topology/model/machine.hpp"

namespace ringside {

/// "its order leaves NVLink from GPU3 to GPU4 and from GPU7 to GPU0; ring:order=0-3-2-1-5-6-7-4
/// stays on it": of rings and chains on GPUs that are joined directly, where there is such an
/// order. Empty otherwise. `gpus`: of each rank.
[[nodiscard]] std::string off_fabric_remark(const Machine& machine, std::span<const int> gpus,
                                            const Spec& spec);

}  // namespace ringside
