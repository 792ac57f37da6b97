// SPDX-License-Identifier: MIT
/// Running an operation's work, and what it costs in virtual time.
#pragma once

#include "ringside/tests/fakecuda/faults.hpp"
#include "ringside/tests/fakecuda/memory.hpp"
#include "ringside/tests/fakecuda/objects.hpp"

namespace ringside::tests::fakecuda {

class Runtime;

/// Runs work on memory, planted hardware faults included.
void run_work(Runtime& runtime, const Work& work);

/// Microseconds, by a model that is no measurement of anything: a latency, and bytes over a
/// bandwidth.
[[nodiscard]] double cost(Runtime& runtime, const Work& work);

/// A planted fault that applies to this work; nullptr: none.
[[nodiscard]] const HardwareFault* fault_on(Runtime& runtime, const Work& work, FaultKind kind);

/// What a device answers to an operation that touches memory it cannot reach (and a report of it),
/// or success.
[[nodiscard]] cudaError_t illegal_access(Runtime& runtime, const Lane& lane,
                                         const Operation& operation);

/// Who performs an operation, for reports.
[[nodiscard]] Actor actor_of(const Lane& lane, const Operation& operation);

}  // namespace ringside::tests::fakecuda
