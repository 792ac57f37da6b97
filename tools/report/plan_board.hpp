// SPDX-License-Identifier: MIT
/// The lower half of a plan's picture, a row for every step, and what it shares with the upper one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ringside/tools/report/machine_layout.hpp"
#include "ringside/tools/report/plan_story.hpp"

namespace ringside::report {

/// Ranks have a colour each; from the ninth on they come again, and numbers tell them apart.
inline constexpr int rank_colours = 8;

/// When what happens, in seconds from the beginning of the animation.
struct Course {
  std::vector<double> begins, ends;  ///< of each step
  double length = 0;
};

/// Plans of as many ranks run at one speed, so that a slow one is seen to be slow.
[[nodiscard]] Course course_of(const Story& story);

/// An <animate> that shows its element within [from, to) seconds; "" for always.
[[nodiscard]] std::string shown_within(const Course& course, double from, double to);

/// "0.75", and on a machine the seconds.
[[nodiscard]] std::string length_words(const Story& story, double units);

/// How a rank's chunks stand in its box: a whole message is equally long in all pictures, so that a
/// quarter of one looks like a quarter.
struct CellGrid {
  static constexpr double space = 3;

  int columns = 1;
  double cell_width = 0, cell_height = 0;
  double width = 0, height = 0;

  CellGrid(std::size_t cells, double message_width, double least_width, double row_height);
  [[nodiscard]] Spot at(std::size_t index) const;
};

/// Chunks in the memory of the rank that has the most.
[[nodiscard]] std::size_t most_cells(const Story& story);

/// The rows of all steps at `x`, `y`.
struct Board {
  std::string svg;
  double width = 0, height = 0;
};
[[nodiscard]] double board_width(const Story& story);
[[nodiscard]] Board draw_board(const Story& story, const Course& course, double x, double y);

}  // namespace ringside::report
