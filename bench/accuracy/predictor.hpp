// SPDX-License-Identifier: MIT
/// A published row under a link model.
#pragma once

#include <string>

#include "ringside/bench/accuracy/published.hpp"
#include "ringside/topology/model/link_model.hpp"
#include "ringside/topology/model/what_if.hpp"

namespace ringside::bench {

/// The row's machine with its words, under the class that fits it.
[[nodiscard]] MachineDescription machine_of(const PublishedRow& row);

/// GB/s as the row counts them. `machine`: of machine_of(), perhaps with other figures. Simulated.
[[nodiscard]] double predicted_rate(const PublishedRow& row, const MachineDescription& machine,
                                    const std::string& way);

/// What ran: the row's way, or NCCL's choice by its own model.
[[nodiscard]] std::string way_of(const PublishedRow& row, const MachineDescription& machine);

}  // namespace ringside::bench
