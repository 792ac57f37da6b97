// SPDX-License-Identifier: MIT
/// Tables for people: the times of all algorithms at one glance, and the ratios to a peer.
#pragma once

#include <string>

#include "ringside/bench/report.hpp"

namespace ringside::bench {

/// What was measured and where, in one line with "measured" in it.
[[nodiscard]] std::string table_title(const Report& report);

/// One table per type, operator and placement of the series from `first` on, which have one number
/// of ranks: a line per algorithm, a column per size, the fastest of ours marked.
[[nodiscard]] std::string tables(const Report& report, std::size_t first);

/// "# ..." lines: per ranks, placement and size the time of the peer over that of the fastest of
/// ours. Empty without a peer.
[[nodiscard]] std::string ratio_table(const Report& report);

/// "# skipped: ..." lines.
[[nodiscard]] std::string skipped_lines(const Report& report);

}  // namespace ringside::bench
