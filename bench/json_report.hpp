// SPDX-License-Identifier: MIT
/// Reports for programs.
#pragma once

#include <string>

#include "ringside/bench/report.hpp"

namespace ringside::bench {

/// One JSON document: nccl-tests' keys with real booleans, numbers and nulls; every result also
/// names its algorithm and ranks and has more statistics. Never the environment or the command
/// line. `"ringside_bench": 1` tells it from nccl-tests' own.
[[nodiscard]] std::string json_report(const Report& report, bool with_summary);

/// A line of names, then one line per algorithm, ranks, type, operator, size and placement.
[[nodiscard]] std::string csv_report(const Report& report);

}  // namespace ringside::bench
