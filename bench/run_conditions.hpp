// SPDX-License-Identifier: MIT
/// Under what two runs were measured: what must be the same for their times to mean the same, and
/// what the reader of a comparison must know.
#pragma once

#include <string>
#include <vector>

#include "ringside/bench/run_comparison.hpp"

namespace ringside::bench {

/// Throws Error(bad_input) if the calls that were timed are not the same calls: other buffers,
/// other counts, other pinning.
void check_same_conditions(const MeasuredRun& old_run, const MeasuredRun& new_run);

/// What differs beside the program, and may be why it is faster or slower: a sentence each.
[[nodiscard]] std::vector<std::string> differing_conditions(const MeasuredRun& old_run,
                                                            const MeasuredRun& new_run);

}  // namespace ringside::bench
