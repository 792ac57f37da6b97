// SPDX-License-Identifier: MIT
#include "ringside/tools/report/plan_board.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/text.hpp"
#include "ringside/tools/report/html.hpp"

namespace ringside::report {
namespace {

constexpr double beginning = 0.8, pause_between = 0.25, ending = 2.5, least_step = 0.7;
/// More little pictures than that would be a large file that nobody reads.
constexpr std::size_t most_board_cells = 2600;

/// Before the ranks: of the longest name of a step.
double label_width(const Story& story) {
  constexpr double letter = 7.2, least = 58;
  std::size_t most = 0;
  for (const auto& step : story.steps) most = std::max(most, step.label.size());
  return std::max(letter * static_cast<double>(most) + 8, least);
}

class BoardDrawer {
 public:
  BoardDrawer(const Story& story, const Course& course)
      : story_(story),
        course_(course),
        grid_(most_cells(story), 62, 5, 12),
        label_(label_width(story)),
        column_(std::max(grid_.width + 12, 60.0)),
        row_height_(std::max(grid_.height, 14.0) + 12),
        width_(label_ + column_ * story.ranks +
               (story.unit_seconds > 0 ? room_for_seconds : room_for_messages)) {}

  [[nodiscard]] double width() const { return width_; }

  Board draw(double x, double top) {
    std::string svg =
        fmt::format("<g class=\"board\" transform=\"translate({:.1f} {:.1f})\">\n", x, top);
    const auto cells = most_cells(story_) * static_cast<std::size_t>(story_.ranks);
    if (cells * (story_.steps.size() + 1) > most_board_cells)
      return {svg +
                  "<text class=\"dim\" y=\"10\">(too many steps and chunks for a picture of each "
                  "step)</text></g>\n",
              width_, 14};
    for (int rank = 0; rank < story_.ranks; ++rank)
      svg += fmt::format("<text class=\"dim\" x=\"{:.1f}\" y=\"0\">rank {}</text>",
                         label_ + rank * column_, rank);
    svg += fmt::format(
        "<text class=\"dim end\" x=\"{0:.1f}\" y=\"{1}\">time</text><text class=\"dim end\" "
        "x=\"{0:.1f}\" y=\"0\">(messages)</text>\n",
        width_, -line);
    double y = 12, so_far = 0;
    for (int step = -1; step < static_cast<int>(story_.steps.size()); ++step) {
      if (step >= 0) so_far += story_.steps[static_cast<std::size_t>(step)].duration;
      svg += row(step, y, so_far);
      y += row_height_;
    }
    return {svg + totals(y) + "</g>\n", width_, y + 44};
  }

 private:
  static constexpr double room_for_messages = 54, room_for_seconds = 120;  ///< behind the ranks
  static constexpr double line = 14;  ///< of the heads of the columns

  [[nodiscard]] const std::vector<std::vector<StoryCell>>& cells_after(int step) const {
    return step < 0 ? story_.start : story_.steps[static_cast<std::size_t>(step)].after;
  }

  [[nodiscard]] std::string row(int step, double y, double so_far) const {
    const double from = step < 0 ? 0 : course_.begins[static_cast<std::size_t>(step)];
    const bool last = step + 1 == static_cast<int>(story_.steps.size());
    const double to = last ? course_.length : course_.begins[static_cast<std::size_t>(step) + 1];
    std::string svg = fmt::format(
        "<g><title>{}</title><rect class=\"now\" x=\"-6\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\" "
        "rx=\"4\" visibility=\"hidden\">{}</rect><text y=\"{:.1f}\">{}</text>",
        escaped(row_words(step)), y - 3, width_ + 12, row_height_ - 3,
        shown_within(course_, from, to), y + 11,
        step < 0 ? "start" : escaped(story_.steps[static_cast<std::size_t>(step)].label));
    for (int rank = 0; rank < story_.ranks; ++rank) {
      const auto count = story_.start[static_cast<std::size_t>(rank)].size();
      for (std::size_t i = 0; i < count; ++i) {
        const Spot at = grid_.at(i);
        svg += still_cell(cells_after(step)[static_cast<std::size_t>(rank)][i],
                          label_ + rank * column_ + at.x, y + at.y);
      }
    }
    return svg + fmt::format("<text class=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>\n",
                             width_, y + 11, step < 0 ? "0" : length_words(story_, so_far));
  }

  [[nodiscard]] std::string row_words(int step) const {
    if (step < 0) return "before the first step";
    std::string words;
    for (const auto& word : story_.steps[static_cast<std::size_t>(step)].words)
      words += word + "\n";
    return words;
  }

  [[nodiscard]] std::string still_cell(const StoryCell& cell, double x, double y) const {
    std::string svg =
        fmt::format("<rect class=\"cell\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\"/>",
                    x, y, grid_.cell_width, grid_.cell_height);
    const double stripe = grid_.cell_width / story_.ranks;
    for (int from = 0; from < story_.ranks; ++from)
      if (cell.held.contains(from))
        svg += fmt::format(
            "<rect class=\"c{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\"/>",
            from % rank_colours, x + from * stripe, y, stripe, grid_.cell_height);
    const bool done = !cell.scratch && cell.held.complete && story_.ranks > 1;
    return svg +
           fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\"/>",
                       done           ? "done"
                       : cell.scratch ? "frame scratch"
                                      : "frame",
                       x, y, grid_.cell_width, grid_.cell_height);
  }

  /// What every rank received and sent, in whole messages.
  [[nodiscard]] std::string totals(double y) const {
    std::string svg = fmt::format(
        "<text class=\"dim\" y=\"{:.1f}\">received</text><text class=\"dim\" "
        "y=\"{:.1f}\">sent</text>",
        y + 12, y + 28);
    for (int rank = 0; rank < story_.ranks; ++rank) {
      const auto i = static_cast<std::size_t>(rank);
      svg += fmt::format(
          "<text x=\"{0:.1f}\" y=\"{1:.1f}\">{2:.3g}</text><text x=\"{0:.1f}\" "
          "y=\"{3:.1f}\">{4:.3g}</text>",
          label_ + rank * column_, y + 12, story_.received[i], y + 28, story_.sent[i]);
    }
    return svg + fmt::format("<text class=\"dim end\" x=\"{:.1f}\" y=\"{:.1f}\">messages</text>\n",
                             width_, y + 12);
  }

  const Story& story_;
  const Course& course_;
  CellGrid grid_;
  double label_, column_, row_height_, width_;
};

}  // namespace

Course course_of(const Story& story) {
  const double unit = 12.0 / std::max(story.ranks, 2);
  Course course;
  double now = beginning;
  for (const auto& step : story.steps) {
    course.begins.push_back(now);
    now += std::max(least_step, step.duration * unit);
    course.ends.push_back(now);
    now += pause_between;
  }
  course.length = now + ending;
  return course;
}

std::string shown_within(const Course& course, double from, double to) {
  const double a = from / course.length, b = to / course.length;
  std::string values, times;
  if (a <= 0) {
    values = "visible;hidden";
    times = fmt::format("0;{:.5f}", b);
  } else if (b >= 1) {
    values = "hidden;visible";
    times = fmt::format("0;{:.5f}", a);
  } else {
    values = "hidden;visible;hidden";
    times = fmt::format("0;{:.5f};{:.5f}", a, b);
  }
  if (a <= 0 && b >= 1) return "";
  return fmt::format(
      "<animate attributeName=\"visibility\" calcMode=\"discrete\" dur=\"{}s\" "
      "repeatCount=\"indefinite\" values=\"{}\" keyTimes=\"{}\"/>",
      fmt::format("{:.4f}", course.length), values, times);
}

std::string length_words(const Story& story, double units) {
  std::string words = fmt::format("{:.4g}", units);
  if (story.unit_seconds > 0)
    words += fmt::format(" ({})", format_duration(Seconds(units * story.unit_seconds)));
  return words;
}

CellGrid::CellGrid(std::size_t cells, double message_width, double least_width, double row_height)
    : cell_height(row_height) {
  constexpr int most_columns = 8;
  columns = std::clamp(static_cast<int>(cells), 1, most_columns);
  const auto rows = (static_cast<int>(cells) + columns - 1) / columns;
  cell_width = std::max((message_width + space) / columns - space, least_width);
  width = columns * (cell_width + space) - space;
  height = std::max(rows, 1) * (cell_height + space) - space;
}

Spot CellGrid::at(std::size_t index) const {
  const auto column = static_cast<int>(index) % columns, row = static_cast<int>(index) / columns;
  return {column * (cell_width + space), row * (cell_height + space)};
}

std::size_t most_cells(const Story& story) {
  std::size_t most = 1;
  for (const auto& cells : story.start) most = std::max(most, cells.size());
  return most;
}

double board_width(const Story& story) {
  const Course nothing_moves;
  return BoardDrawer(story, nothing_moves).width();
}

Board draw_board(const Story& story, const Course& course, double x, double y) {
  return BoardDrawer(story, course).draw(x, y);
}

}  // namespace ringside::report
