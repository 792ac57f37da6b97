// SPDX-License-Identifier: MIT
/// The process of a preflight that touches the devices: reads commands, answers each with a line.
#pragma once

namespace ringside::bench::preflight {

/// Serves until it is told to quit, its input ends, or its parent dies. Returns the exit code.
int run_worker();

}  // namespace ringside::bench::preflight
