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
  double width = 0;  ///< in which its smallest letters are of 12 px
  /// Seconds from the beginning of the animation: when each step begins and ends, and the whole.
  std::vector<double> begins = {}, ends = {};
  double length = 0;
};

/// `plain` is for a file of its own, which every program that shows SVG should draw alike; `page`
/// follows the theme of the page that the picture is part of.
enum class Colours { plain, page };

/// On a machine, chunks take the ways of the data; else ranks stand in a circle.
[[nodiscard]] Drawing draw_story(const Story& story, const Topology* topology = nullptr,
                                 Colours colours = Colours::plain);

}  // namespace ringside::report
