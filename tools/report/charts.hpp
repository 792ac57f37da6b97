// SPDX-License-Identifier: MIT
/// Charts as the page's scripts draw them: JSON values. For source files only: this header needs
/// nlohmann-json.
///
/// Every chart has "kind", "title", "figures" (how its numbers came about) and axis titles.
/// - lines: "y" is "us", "GB/s" or "times"; "x" is "bytes" or "count". Series have label, colour,
///   marker, dash, points [x, y, least, most, note]; "marks" are crossovers; "references" lines
///   across.
/// - bars: a bar per category, of parts one behind the other ("stacked") or side by side; whiskers;
///   "references", a mark per category.
/// - spans: [row, begin, end, kind, what] in microseconds.
#pragma once

#include "ringside/base/json_write.hpp"
#include "ringside/tools/report/looks.hpp"
#include "ringside/tools/report/panels.hpp"
#include "ringside/tools/report/runs.hpp"

namespace ringside::report {

[[nodiscard]] Json time_chart(const Panel& panel, const Variant& variant, Looks& looks);
[[nodiscard]] Json bandwidth_chart(const Panel& panel, const Variant& variant, Looks& looks);
/// Ours against other libraries.
[[nodiscard]] Json ratio_chart(const Panel& panel, const Variant& variant, Looks& looks);

/// `figures`: of the comparison, measured or predicted.
[[nodiscard]] Json speedup_chart(const TrainingComparison& comparison, Figures figures);
[[nodiscard]] Json step_chart(const TrainingComparison& comparison, Figures figures);
[[nodiscard]] Json accuracy_chart(const TrainingRun& run);
[[nodiscard]] Json epoch_chart(const TrainingRun& run);

[[nodiscard]] Json timeline_chart(const Timeline& timeline);
[[nodiscard]] Json change_chart(const RunChanges& changes);
[[nodiscard]] Json compared_chart(const Diagnosis& diagnosis);

/// [{"name", "seconds", "links": {"GPU0 -> switch0": [step, words]}}]: what a picture of a machine
/// shows in turn.
[[nodiscard]] Json load_cases(const MachineView& view);

}  // namespace ringside::report
