// SPDX-License-Identifier: MIT
/// A measurement whose rounds are spread over its whole length, for comparisons between runs.
#pragma once

#include "ringside/bench/sweep.hpp"

namespace ringside::bench {

/// Measures what `run_sweep` measures, with as many passes through everything as there are rounds,
/// one round of each row in a pass. The rounds of a row are then minutes apart and have other
/// threads and buffers: what differs between two runs for no other reason than that differs between
/// the rounds of one run as well, and can be told from a difference that stays. Results are checked
/// in the first pass. The listener hears of progress only.
[[nodiscard]] Report run_passes(const BenchRequest& request, const SweepListener& listener = {});

/// The reports of all passes as one: rounds on end, and the statistics of all of them; of the
/// samples, which a report does not have, the median over passes (of the least, the least).
/// At least one report; all of the same request.
[[nodiscard]] Report merge_passes(std::vector<Report> passes);

}  // namespace ringside::bench
