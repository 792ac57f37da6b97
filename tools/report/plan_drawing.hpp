// SPDX-License-Identifier: MIT
/// A plan's story as SVG: ranks with what they hold, chunks that move, and below a picture of every
/// step. It moves by itself (SMIL), and stands still where nothing plays it: ranks as they are in
/// the end, above all steps.
#pragma once

#include <string>
#include <vector>

#include "ringside/tools/report/plan_story.hpp"

namespace ringside::report {

struct Drawing {
  std::string svg = {};
  /// Seconds from the beginning of the animation: when each step begins and ends, and the whole.
  std::vector<double> begins = {}, ends = {};
  double length = 0;
};

/// On a machine, chunks take the ways of the data; else ranks stand in a circle.
[[nodiscard]] Drawing draw_story(const Story& story, const Topology* topology = nullptr);

}  // namespace ringside::report
