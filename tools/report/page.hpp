// SPDX-License-Identifier: MIT
/// The report: one HTML file that needs nothing else, and no network.
#pragma once

#include <string>

#include "ringside/tools/report/runs.hpp"

namespace ringside::report {

struct PageFacts {
  std::string version = {};  ///< of the program
  std::string made = {};     ///< when, for people
};

/// Whether this build can make reports: it has Chart.js. Else the reason.
[[nodiscard]] std::string why_no_report();

/// Findings, charts, machines, time lines, and the files that all of it is from. Requires that
/// there is no reason against reports.
[[nodiscard]] std::string report_page(const Runs& runs, const PageFacts& facts);

}  // namespace ringside::report
