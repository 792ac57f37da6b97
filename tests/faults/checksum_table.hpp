// SPDX-License-Identifier: MIT
/// A chunk that is spoiled on its way, times every collective that moves data, the same on every
/// executor: with the option `checksum` every rank is told, and without a fault nothing is found.
#pragma once

#include <functional>
#include <string>

#include "ringside/tests/faults/fault_table.hpp"

namespace ringside::tests {

/// Runs it and adds a failure to the test for each cell that is not as it must be. `spoil(true)`:
/// from now on a bit of what comes to a rank flips, once at least; `spoil(false)`: no more. Called
/// in every process, where ranks are processes. Returns the table, as run_fault_table.
[[nodiscard]] std::string run_checksum_table(const FaultyExecutor& executor,
                                             const std::function<void(bool)>& spoil);

/// For ranks that are threads or processes: the next chunk that comes to one of this process.
void spoil_next_chunk(bool spoils);

}  // namespace ringside::tests
