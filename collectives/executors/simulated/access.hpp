// SPDX-License-Identifier: MIT
/// What ranks on a machine reach of each other.
#pragma once

#include <span>

#include "ringside/collectives/lower.hpp"
#include "ringside/topology/model/machine.hpp"

namespace ringside {

/// By rank; `gpus`: that of each rank. Ranks on one GPU reach each other.
[[nodiscard]] AccessMatrix access_of(const Machine& machine, std::span<const int> gpus);

}  // namespace ringside
