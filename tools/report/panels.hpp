// SPDX-License-Identifier: MIT
/// Curves sorted into charts: what belongs beside each other, what is shown at first, where lines
/// cross.
#pragma once

#include <string>
#include <vector>

#include "ringside/tools/report/crossovers.hpp"
#include "ringside/tools/report/runs.hpp"

namespace ringside::report {

/// A curve as it stands in a chart.
struct ShownSeries {
  Series series = {};
  std::string label = {};  ///< of its chart no two are alike
  bool on = true;          ///< shown at first
};

/// All curves of one call.
struct Variant {
  Call call = {};
  std::string name = {};  ///< "float32 sum, in place"
  std::vector<ShownSeries> series = {};
  std::vector<Crossover> crossovers = {};  ///< by the index in `series`
  std::vector<RatioCurve> ratios = {};
};

/// One collective on so many ranks; variants differ in type, operator, placement or root.
struct Panel {
  std::string title = {};
  std::vector<Variant> variants = {};
  std::vector<std::string> notes = {};
};

/// In the order in which the files name them. Where a peer was measured in another run than ours,
/// ratios are of the medians at equal sizes, and marked as such.
[[nodiscard]] std::vector<Panel> panels_of(const Runs& runs);

}  // namespace ringside::report
