// SPDX-License-Identifier: MIT
/// Plans as pictures for a terminal.
#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/error.hpp"
#include "ringside/collectives/plan_io.hpp"
#include "ringside/collectives/plan_steps.hpp"

namespace ringside {
namespace {

constexpr std::size_t columns = 100;
constexpr std::size_t label_width = 12;
constexpr std::size_t most_cells = 4096;  // more is no table, however narrow
constexpr std::size_t most_ops_of_a_step = 12;

std::string joined(std::span<const Location> locations, std::string_view joint) {
  constexpr std::size_t most = 5;  // "i0 + i1 + ... + i63" tells as much as all of them
  std::string text;
  for (std::size_t i = 0; i < locations.size(); ++i) {
    if (locations.size() > most && i >= 2 && i + 1 < locations.size()) {
      if (i == 2) text += fmt::format("{}...", joint);
      continue;
    }
    const auto& l = locations[i];
    if (i > 0) text += joint;
    text += fmt::format("{}{}", to_string(l.buffer).front(), l.rank);
    if (l.buffer == Buffer::scratch) text += fmt::format(".{}", l.slot);
  }
  return text;
}

/// What a rank's memory holds, as words.
class Words {
 public:
  explicit Words(const Plan& plan) : plan_(plan), memory_(plan) {}

  /// Runs the next op, or says why it must not run.
  std::optional<Fault> step() { return memory_.step(); }

  /// The running value of a rank's chunk; blank if the rank has no such chunk.
  [[nodiscard]] std::string text(int rank, int chunk) const {
    const auto held = memory_.running_value(rank, chunk);
    return held ? words(*held) : "";
  }
  [[nodiscard]] std::string scratch_text(int rank, int slot, int chunk) const {
    return words(memory_.in_scratch(rank, slot, chunk));
  }
  [[nodiscard]] std::pair<std::size_t, std::size_t> outputs() const { return memory_.outputs(); }

 private:
  /// "*", ".", "012", "0-5,7" for more than ten ranks; "!" behind what holds a rank twice.
  [[nodiscard]] std::string words(const Held& held) const {
    if (held.nothing()) return ".";
    if (held.complete) return "*";
    std::string text;
    for (int rank = 0; rank < plan_.ranks(); ++rank) {
      if (!held.contains(rank)) continue;
      int last = rank;
      if (plan_.ranks() > 10)
        while (last + 1 < plan_.ranks() && held.contains(last + 1)) ++last;
      if (plan_.ranks() > 10 && !text.empty()) text += ',';
      text += last == rank ? fmt::format("{}", rank) : fmt::format("{}-{}", rank, last);
      rank = last;
    }
    return text + (held.repeated ? "!" : "");
  }

  const Plan& plan_;
  PlanMemory memory_;
};

using Row = std::vector<std::vector<std::string>>;  // [rank][cell]: chunks, then scratch

Row row_of(const Plan& plan, const Words& data, bool scratch) {
  Row row(static_cast<std::size_t>(plan.ranks()));
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    auto& cells = row[static_cast<std::size_t>(rank)];
    for (int chunk = 0; chunk < plan.chunks(); ++chunk) cells.push_back(data.text(rank, chunk));
    if (!scratch) continue;
    const auto slots = plan.scratch(rank);
    for (std::size_t slot = 0; slot < slots.size(); ++slot)
      for (int chunk = 0; chunk < slots[slot].chunk_count; ++chunk)
        cells.push_back(
            data.scratch_text(rank, static_cast<int>(slot), slots[slot].first_chunk + chunk));
  }
  return row;
}

/// One step of the picture.
struct Step {
  std::string label;
  Row row;                                        // empty where there is no table
  std::pair<std::size_t, std::size_t> outputs{};  // all, and complete ones
  std::size_t first_op = 0, end_op = 0;
};

struct Picture {
  std::vector<Step> steps;
  int last_step = 0;                // of the whole plan
  bool cut = false;                 // there are more steps
  std::optional<Fault> fault = {};  // why it ends early
};

/// `rows`: keep the data; `scratch`: that of scratch too.
Picture draw(const SteppedPlan& ordered, int most_steps, bool rows, bool scratch) {
  const Plan& plan = ordered.plan;
  Words data(plan);
  Picture picture;
  picture.last_step = ordered.steps.empty() ? 0 : ordered.steps.back();
  const auto add = [&](std::string label, std::size_t first, std::size_t end) {
    picture.steps.push_back(
        {std::move(label), rows ? row_of(plan, data, scratch) : Row{}, data.outputs(), first, end});
  };
  add("start", 0, 0);
  int earlier = 0;
  for (std::size_t first = 0, end = 0; first < plan.size(); first = end) {
    if (static_cast<int>(picture.steps.size()) > most_steps) {
      picture.cut = true;
      break;
    }
    const int step = ordered.steps[first];
    while (end < plan.size() && ordered.steps[end] == step && !picture.fault) {
      picture.fault = data.step();
      ++end;
    }
    add(step_label(earlier, step), first, end);
    earlier = step;
    if (picture.fault) break;
  }
  return picture;
}

/// How wide a table's cells are, and which way it lies.
struct Layout {
  std::size_t data_cells = 0;  // of a rank, scratch behind them
  std::size_t cell = 1, scratch_cell = 1;
  std::vector<std::size_t> rank_width;

  Layout(const Plan& plan, const Picture& picture)
      : data_cells(static_cast<std::size_t>(plan.chunks())),
        rank_width(static_cast<std::size_t>(plan.ranks())) {
    for (const Step& step : picture.steps)
      for (const auto& cells : step.row)
        for (std::size_t i = 0; i < cells.size(); ++i) {
          std::size_t& width = i < data_cells ? cell : scratch_cell;
          width = std::max(width, cells[i].size());
        }
    for (std::size_t rank = 0; rank < rank_width.size(); ++rank)
      rank_width[rank] = std::max(cells_text(picture.steps.front().row[rank]).size(),
                                  fmt::format("rank {}", rank).size());
  }

  [[nodiscard]] std::string cells_text(const std::vector<std::string>& cells) const {
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i == data_cells)
        text += "  [";
      else if (i > 0)
        text += i > data_cells ? " " : " | ";
      text += fmt::format("{:>{}}", cells[i], i < data_cells ? cell : scratch_cell);
    }
    return cells.size() > data_cells ? text + "]" : text;
  }

  /// Ranks side by side, a line per step.
  [[nodiscard]] bool fits_across() const {
    std::size_t width = label_width;
    for (const std::size_t w : rank_width) width += w + 3;
    return width <= columns + 3;
  }
  /// Ranks one below the other, a line per rank and step.
  [[nodiscard]] bool fits_down() const {
    return rank_width.size() <= 16 &&
           label_width + 10 + *std::max_element(rank_width.begin(), rank_width.end()) <= columns;
  }
};

std::string ops_text(const Plan& plan, const Step& step, bool all) {
  std::string text, line;
  const std::size_t shown =
      all ? step.end_op : std::min(step.end_op, step.first_op + most_ops_of_a_step);
  const auto flush = [&] {
    if (!line.empty()) text += fmt::format("{:{}}{}\n", "", label_width, line);
    line.clear();
  };
  const auto add = [&](const std::string& word) {
    if (!line.empty() && label_width + line.size() + 3 + word.size() > columns) flush();
    line += (line.empty() ? "" : ";  ") + word;
  };
  for (std::size_t i = step.first_op; i < shown; ++i) add(short_text(plan.op(i)));
  if (shown < step.end_op) add(fmt::format("... and {} more", step.end_op - shown));
  flush();
  return text;
}

std::string trimmed_line(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::string table_across(const Plan& plan, const Picture& picture, const Layout& layout) {
  std::string line = fmt::format("{:{}}", "", label_width);
  for (std::size_t rank = 0; rank < layout.rank_width.size(); ++rank)
    line += fmt::format("{:<{}}   ", fmt::format("rank {}", rank), layout.rank_width[rank]);
  std::string text = trimmed_line(line);
  for (const Step& step : picture.steps) {
    line = fmt::format("{:<{}}", step.label, label_width);
    for (std::size_t rank = 0; rank < step.row.size(); ++rank)
      line += fmt::format("{:<{}}   ", layout.cells_text(step.row[rank]), layout.rank_width[rank]);
    text += trimmed_line(line) + ops_text(plan, step, true);
  }
  return text;
}

std::string table_down(const Plan& plan, const Picture& picture, const Layout& layout) {
  std::string text;
  for (const Step& step : picture.steps) {
    for (std::size_t rank = 0; rank < step.row.size(); ++rank)
      text += trimmed_line(fmt::format("{:<{}}{:<10}{}", rank == 0 ? step.label : "", label_width,
                                       fmt::format("rank {}", rank),
                                       layout.cells_text(step.row[rank])));
    text += ops_text(plan, step, true);
  }
  return text;
}

std::string summary(const Plan& plan, const Picture& picture) {
  std::string text;
  for (const Step& step : picture.steps) {
    text += fmt::format("{:<{}}{} ops; {} of {} outputs complete\n", step.label, label_width,
                        step.end_op - step.first_op, step.outputs.second, step.outputs.first);
    text += ops_text(plan, step, false);
  }
  return text;
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string heading(const Plan& plan, const Picture& picture, bool table) {
  const auto& shape = plan.shape();
  const bool in_place = plan.request().in_place;
  std::string text = fmt::format(
      "{}: {} on {}, {}: {}, {}, {}\n", plan.spec(), to_string(plan.request().collective),
      counted(static_cast<std::size_t>(plan.ranks()), "rank"),
      in_place ? "in place" : "out of place",
      counted(static_cast<std::size_t>(plan.chunks()), "chunk"), counted(plan.size(), "op"),
      counted(static_cast<std::size_t>(picture.last_step), "step"));
  if (shape.slices > 1)
    text += fmt::format("Every chunk goes in {} slices one behind the other; drawn is the first.\n",
                        shape.slices);
  if (table)
    text += fmt::format("Per chunk the ranks added so far, * complete, . nothing yet{}.\n",
                        plan.uses_scratch() ? "; scratch in [ ]" : "");
  text += fmt::format("oR[C]: output chunk C of rank R, iR input{}{}, by R: executed by R.\n\n",
                      in_place ? " (same memory)" : "",
                      plan.uses_scratch() ? ", sR.S scratch slot S" : "");
  return text;
}

}  // namespace

std::string short_text(const Op& op) {
  std::string text = joined(op.destinations, ",");
  text += op.count == 1 ? fmt::format("[{}]", op.chunk())
                        : fmt::format("[{}-{}]", op.chunk(), op.chunk() + op.count - 1);
  text += " = " + joined(op.sources, " + ");
  if (op.destinations.size() != 1 || op.destinations.front().rank != op.rank)
    text += fmt::format(" by {}", op.rank);
  return text;
}

std::string show_plan(const Plan& plan, int most_steps) {
  check_structure(plan);
  const SteppedPlan ordered = by_step(plan);
  const auto cells =
      static_cast<std::size_t>(plan.ranks()) * static_cast<std::size_t>(std::max(plan.chunks(), 1));
  std::string body;
  Picture picture;
  bool table = false;
  for (const bool scratch : {true, false}) {
    if (cells > most_cells || table || (scratch && !plan.uses_scratch())) continue;
    picture = draw(ordered, most_steps, true, scratch);
    const Layout layout(plan, picture);
    table = layout.fits_across() || layout.fits_down();
    if (table)
      body = layout.fits_across() ? table_across(ordered.plan, picture, layout)
                                  : table_down(ordered.plan, picture, layout);
  }
  if (!table) {
    picture = draw(ordered, most_steps, false, false);
    body = summary(ordered.plan, picture);
  }
  std::string text = heading(plan, picture, table) + body;
  if (picture.cut) text += fmt::format("... cut here: {} steps in all\n", picture.last_step);
  if (picture.fault) text += fmt::format("stops here: {}\n", picture.fault->message);
  return text;
}

}  // namespace ringside
