// SPDX-License-Identifier: MIT
#include "ringside/tools/report/plan_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <optional>
#include <span>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/tools/report/colours.hpp"
#include "ringside/tools/report/html.hpp"
#include "ringside/tools/report/machine_layout.hpp"
#include "ringside/tools/report/plan_board.hpp"
#include "ringside/topology/path.hpp"

namespace ringside::report {
namespace {

constexpr std::string_view style = R"(
.plan{font:13px system-ui,sans-serif}
.plan .page{fill:var(--page,#fff)}
.plan text{fill:var(--ink,#1d2733)}
.plan .dim{fill:var(--dim,#5b6673);font-size:12px}
.plan .big{font-size:17px;font-weight:600}
.plan .mid{text-anchor:middle}.plan .end{text-anchor:end}
.plan .rank{fill:var(--panel,#f6f8fa);stroke:var(--line,#8894a3)}
.plan .part{fill:var(--panel,#fff);stroke:var(--line,#8894a3)}
.plan .cell{fill:var(--empty,#e6eaef)}
.plan .frame{fill:none;stroke:var(--line,#8894a3)}
.plan .scratch{stroke-dasharray:3 2}
.plan .done{fill:none;stroke:var(--ink,#1d2733);stroke-width:2}
.plan .link{fill:none;stroke:var(--line,#8894a3);stroke-width:1.2;opacity:.6}
.plan .arrow{fill:none;stroke:var(--ink,#1d2733);stroke-width:1.4;stroke-dasharray:5 4;opacity:.55}
.plan .token .edge{fill:none;stroke:var(--ink,#1d2733);stroke-width:1.6}
.plan .token text{font-weight:700;font-size:12px;text-anchor:middle;paint-order:stroke;stroke:var(--page,#fff);stroke-width:3px}
.plan .board .frame{stroke-width:.6}.plan .board .done{stroke-width:1.3}
.plan .now{fill:var(--now,#fff1c9)}
.plan .c0{fill:#6baed6}.plan .c1{fill:#f4a261}.plan .c2{fill:#5fc9a5}.plan .c3{fill:#e3a1c8}
.plan .c4{fill:#f2d14c}.plan .c5{fill:#a99be0}.plan .c6{fill:#c9a27b}.plan .c7{fill:#9fb4c4}
)";

constexpr double margin = 14, header = 20;

/// Of UTF-8: a byte that no letter begins with.
bool is_inside_letter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; }

/// The words in lines of so many letters at the most: broken behind a blank or a comma, and where
/// there is neither.
std::vector<std::string> wrapped(std::string_view words, std::size_t letters) {
  std::vector<std::string> lines;
  while (words.size() > letters) {
    const auto last = words.find_last_of(" ,", letters - 1);
    std::size_t length = last == std::string_view::npos ? letters : last + 1;
    while (length > 1 && is_inside_letter(words[length])) --length;
    lines.emplace_back(trim(words.substr(0, length)));
    words.remove_prefix(length);
  }
  lines.emplace_back(words);
  return lines;
}

std::string time(double seconds) { return fmt::format("{:.4f}", seconds); }

class Drawer {
 public:
  Drawer(const Story& story, const Topology* topology, Colours colours)
      : story_(story),
        topology_(topology),
        style_(colours == Colours::page ? style : plain_colours(style)),
        course_(course_of(story)),
        grid_(most_cells(story), 106, 12, 22),
        box_width_(std::max(grid_.width + 16, 76.0)),
        box_height_(grid_.height + header + 14) {}

  Drawing draw() {
    place_ranks();
    const double inner_width = std::max(scene_width_, board_width(story_));
    const std::string head = heading(inner_width);
    aside_ = margin + (inner_width - scene_width_) / 2;
    for (auto& spot : spots_) spot = {spot.x + aside_, spot.y + scene_top_};
    const double board_top = scene_height_ + scene_top_ + 32;
    const Board board = draw_board(story_, course_, margin, board_top);
    // What moves goes over everything, its way below the boxes.
    std::string body = head + links() + steps(&Drawer::arrow) + parts();
    for (int rank = 0; rank < story_.ranks; ++rank) body += rank_svg(rank);
    body += steps(&Drawer::token);
    const double width = inner_width + 2 * margin;
    const std::string name = fmt::format("{}: {}", story_.spec, story_.call);
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plan\" id=\"plan\" viewBox=\"0 0 "
        "{0:.0f} "
        "{1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\" aria-labelledby=\"plan-title "
        "plan-about\">\n<title id=\"plan-title\">{2}</title>\n<desc id=\"plan-about\">{3}</desc>\n"
        "<style>{4}</style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n{5}{6}</svg>\n",
        width, board_top + board.height + margin, escaped(name), escaped(about()), style_, body,
        board.svg);
    return {std::move(svg), width, course_.begins, course_.ends, course_.length};
  }

 private:
  [[nodiscard]] std::string about() const {
    std::string words = fmt::format("{} steps.", story_.steps.size());
    for (const auto& step : story_.steps) {
      words += fmt::format(" {}:", step.label);
      constexpr std::size_t most = 8;
      for (std::size_t i = 0; i < std::min(step.words.size(), most); ++i)
        words += " " + step.words[i] + ";";
      if (step.words.size() > most) words += fmt::format(" and {} more;", step.words.size() - most);
    }
    return words;
  }

  // ---- places

  void place_ranks() {
    if (topology_ != nullptr)
      place_on_machine();
    else
      place_in_circle();
  }

  void place_in_circle() {
    const int n = story_.ranks;
    const double room = std::hypot(box_width_, box_height_) + 34;
    const double radius =
        n == 1 ? 0 : std::max(n == 2 ? room * 0.75 : 118, n * room / (2 * std::numbers::pi));
    scene_width_ = 2 * radius + box_width_;
    scene_height_ = (n <= 2 ? 0 : 2 * radius) + box_height_;
    for (int rank = 0; rank < n; ++rank) {
      // Two ranks side by side, more clockwise from the top.
      const double angle = n == 2 ? std::numbers::pi * (1 - rank)
                                  : 2 * std::numbers::pi * rank / n - std::numbers::pi / 2;
      const double squeeze = n <= 2 ? 0 : 1;
      spots_.push_back({scene_width_ / 2 + radius * std::cos(angle),
                        scene_height_ / 2 + squeeze * radius * std::sin(angle)});
    }
  }

  /// Within a box nothing goes over its NICs.
  [[nodiscard]] bool is_cluster() const {
    return std::ranges::any_of(topology_->nodes(), [](const Node& node) { return node.box > 0; });
  }

  void place_on_machine() {
    const LayoutStyle look{.device_width = box_width_,
                           .device_height = box_height_,
                           .other_width = 84,
                           .other_height = 28,
                           .column = box_width_ + 24,
                           .row = 74,
                           .network = is_cluster()};
    layout_ = MachineLayout::of(*topology_, look);
    if (!layout_)
      throw Error(ErrorCode::unsupported,
                  fmt::format("the machine has more devices than a picture shows ({})",
                              most_devices_drawn));
    scene_width_ = layout_->width();
    scene_height_ = layout_->height();
    gpus_ = topology_->gpus();
    for (int rank = 0; rank < story_.ranks; ++rank)
      spots_.push_back(layout_->find(gpus_[static_cast<std::size_t>(rank)])->centre);
  }

  [[nodiscard]] Spot spot(int rank) const { return spots_[static_cast<std::size_t>(rank)]; }

  /// The way of a chunk, as a path.
  [[nodiscard]] std::string way(int from, int to) const {
    if (layout_) {
      const auto links = route(*topology_, gpus_[static_cast<std::size_t>(from)],
                               gpus_[static_cast<std::size_t>(to)]);
      if (links)
        if (auto path = layout_->way(*links); !path.empty()) return path;
    }
    const Spot a = local(from), b = local(to);
    const double dx = b.x - a.x, dy = b.y - a.y;
    // A bow to the right, so that two directions do not cover each other.
    return fmt::format("M{:.1f} {:.1f} Q{:.1f} {:.1f} {:.1f} {:.1f}", a.x, a.y,
                       (a.x + b.x) / 2 - 0.16 * dy, (a.y + b.y) / 2 + 0.16 * dx, b.x, b.y);
  }
  /// In the coordinates of the scene's group.
  [[nodiscard]] Spot local(int rank) const {
    return {spot(rank).x - aside_, spot(rank).y - scene_top_};
  }

  // ---- time

  /// What `on` says of the start (-1) and of after each step, as an animation; and whether it is on
  /// in the end, which is what stands there where nothing plays.
  template <class On>
  [[nodiscard]] std::string over_time(const std::string& element, const On& on) const {
    const auto last = static_cast<int>(story_.steps.size()) - 1;
    std::string values = on(-1) ? "visible" : "hidden", times = "0";
    bool now = on(-1), ever = now, always = now;
    for (int step = 0; step <= last; ++step) {
      const bool next = on(step);
      ever |= next;
      always &= next;
      if (next == now) continue;
      now = next;
      values += now ? ";visible" : ";hidden";
      times +=
          fmt::format(";{:.5f}", course_.ends[static_cast<std::size_t>(step)] / course_.length);
    }
    if (!ever) return "";
    if (always) return fmt::format("<{}/>", element);
    return fmt::format(
        "<{} visibility=\"{}\"><animate attributeName=\"visibility\" calcMode=\"discrete\" "
        "dur=\"{}s\" repeatCount=\"indefinite\" values=\"{}\" keyTimes=\"{}\"/></{}>",
        element, now ? "visible" : "hidden", time(course_.length), values, times,
        element.substr(0, element.find(' ')));
  }

  // ---- parts of the picture

  /// The lines above the scene, which begins below them.
  [[nodiscard]] std::string heading(double width) {
    constexpr double first_baseline = 28, below = 18;
    std::string svg;
    double y = first_baseline;
    const auto add = [&](const std::string& words, std::string_view look, double letter,
                         double height) {
      for (const auto& line : wrapped(words, static_cast<std::size_t>(width / letter))) {
        svg += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", look, margin, y,
                           escaped(line));
        y += height;
      }
    };
    // Letters are taken to be as wide as those of a wide font, DejaVu Sans.
    add(story_.spec, "big", 11, 20);
    add(story_.call + (story_.machine.empty() ? "" : ", on " + story_.machine), "said", 8, 18);
    add(length_in_words(), "dim", 7.2, 16);
    if (story_.fault) add("stops: " + *story_.fault, "said", 8, 18);
    scene_top_ = y - below + 14;
    return svg;
  }

  [[nodiscard]] std::string length_in_words() const {
    const double total = story_.duration();
    const bool predicted = story_.unit_seconds > 0;
    return fmt::format("{} step{}; {} {:.4g} times the whole message {}", story_.steps.size(),
                       story_.steps.size() == 1 ? "" : "s",
                       predicted ? "predicted from the busiest link alone:"
                                 : "counted by the busiest rank's port:",
                       total,
                       predicted
                           ? fmt::format("from GPU to GPU, {} for {}",
                                         format_duration(Seconds(total * story_.unit_seconds)),
                                         format_bytes(static_cast<std::uint64_t>(story_.bytes)))
                           : "through one port");
  }

  [[nodiscard]] std::string scene(const std::string& svg) const {
    return fmt::format("<g transform=\"translate({:.1f} {})\">\n{}</g>\n", aside_, scene_top_, svg);
  }

  [[nodiscard]] std::string links() const {
    if (!layout_) return "";
    std::string svg;
    for (LinkId id = 0; id < static_cast<LinkId>(topology_->links().size()); id += 2)
      if (layout_->draws(id))
        svg += fmt::format("<path class=\"link\" d=\"{}\"/>\n", layout_->path(id, 0));
    return scene(svg);
  }

  /// The machine's parts that are no ranks.
  [[nodiscard]] std::string parts() const {
    if (!layout_) return "";
    std::string svg;
    const auto ranks = std::span(gpus_).first(static_cast<std::size_t>(story_.ranks));
    for (const auto& node : layout_->nodes()) {
      if (std::ranges::find(ranks, node.id) != ranks.end()) continue;
      svg += fmt::format(
          "<rect class=\"part\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.0f}\" height=\"{:.0f}\" "
          "rx=\"5\"/><text class=\"dim mid\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
          node.centre.x - node.width / 2, node.centre.y - node.height / 2, node.width, node.height,
          node.centre.x, node.centre.y + 4, escaped(topology_->node(node.id).name));
    }
    return scene(svg);
  }

  [[nodiscard]] const StoryCell& cell(int step, int rank, std::size_t index) const {
    const auto& all = step < 0 ? story_.start : story_.steps[static_cast<std::size_t>(step)].after;
    return all[static_cast<std::size_t>(rank)][index];
  }

  [[nodiscard]] std::string rank_svg(int rank) const {
    const Spot centre = spot(rank);
    const double left = centre.x - box_width_ / 2, top = centre.y - box_height_ / 2;
    std::string name = fmt::format("rank {}", rank);
    if (layout_)
      name =
          fmt::format("{}, {}", topology_->node(gpus_[static_cast<std::size_t>(rank)]).name, name);
    std::string svg = fmt::format(
        "<rect class=\"rank\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "rx=\"6\"/>"
        "<rect class=\"c{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"9\" height=\"9\" rx=\"2\"/>"
        "<text class=\"dim\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        left, top, box_width_, box_height_, rank % rank_colours, left + 7, top + 6, left + 20,
        top + 15, escaped(name));
    const auto& cells = story_.start[static_cast<std::size_t>(rank)];
    const double first_x = centre.x - grid_.width / 2, first_y = top + header + 5;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const Spot at = grid_.at(i);
      svg += moving_cell(rank, i, first_x + at.x, first_y + at.y);
    }
    return svg;
  }

  /// A chunk of a rank: a stripe for every rank whose contribution it has, a frame when complete.
  [[nodiscard]] std::string moving_cell(int rank, std::size_t index, double x, double y) const {
    const double width = grid_.cell_width, height = grid_.cell_height;
    const double stripe = width / story_.ranks;
    const auto square = [&](const char* name) {
      return fmt::format(
          "rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"", name, x,
          y, width, height);
    };
    const StoryCell& first = cell(-1, rank, index);
    std::string svg = fmt::format("<g><title>{}chunk {}</title><{}/>",
                                  first.scratch ? "scratch, " : "", first.chunk, square("cell"));
    for (int from = 0; from < story_.ranks; ++from)
      svg += over_time(
          fmt::format(
              "rect class=\"c{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\"",
              from % rank_colours, x + from * stripe, y, stripe, height),
          [&](int step) { return cell(step, rank, index).held.contains(from); });
    svg += fmt::format("<{}/>", square(first.scratch ? "frame scratch" : "frame"));
    svg += over_time(square("done"), [&](int step) {
      const StoryCell& now = cell(step, rank, index);
      return !now.scratch && now.held.complete && story_.ranks > 1;
    });
    return svg + "</g>\n";
  }

  /// Something of every move, with the seconds within which it is under way.
  [[nodiscard]] std::string steps(std::string (Drawer::*piece)(const Move&, double, double)
                                      const) const {
    std::string svg;
    for (std::size_t i = 0; i < story_.steps.size(); ++i) {
      const StoryStep& step = story_.steps[i];
      const double begin = course_.begins[i], end = course_.ends[i];
      double from = begin;
      for (int hop = 0; hop < step.hops; ++hop) {
        const double part = step.duration > 0
                                ? step.hop_durations[static_cast<std::size_t>(hop)] / step.duration
                                : 1.0 / step.hops;
        const double to = hop + 1 == step.hops ? end : from + part * (end - begin);
        for (const auto& move : step.moves)
          if (move.hop == hop) svg += (this->*piece)(move, from, to);
        from = to;
      }
    }
    return scene(svg);
  }

  [[nodiscard]] std::string arrow(const Move& move, double from, double to) const {
    return fmt::format("<path class=\"arrow\" d=\"{}\" visibility=\"hidden\">{}</path>\n",
                       way(move.from, move.to), shown_within(course_, from, to));
  }

  /// A chunk on its way, as it is: with whose contributions.
  [[nodiscard]] std::string token(const Move& move, double from, double to) const {
    const std::string name = move.count == 1
                                 ? fmt::format("{}", move.chunk)
                                 : fmt::format("{}-{}", move.chunk, move.chunk + move.count - 1);
    const double width =
        std::max({move.count * grid_.cell_width, 18.0, 7.0 * static_cast<double>(name.size()) + 8});
    const double stripe = width / story_.ranks;
    std::string stripes;
    for (int rank = 0; rank < story_.ranks; ++rank)
      if (move.held.contains(rank))
        stripes += fmt::format(
            "<rect class=\"c{}\" x=\"{:.2f}\" y=\"-9\" width=\"{:.2f}\" height=\"18\"/>",
            rank % rank_colours, rank * stripe - width / 2, stripe);
    return fmt::format(
        "<g class=\"token\" visibility=\"hidden\"><title>chunk {} from rank {} to rank {}</title>"
        "<rect class=\"cell\" x=\"{:.1f}\" y=\"-9\" width=\"{:.1f}\" height=\"18\"/>{}<rect "
        "class=\"edge\" x=\"{:.1f}\" y=\"-9\" width=\"{:.1f}\" height=\"18\" rx=\"2\"/><text "
        "y=\"4\">{}</text>{}<animateMotion dur=\"{}s\" repeatCount=\"indefinite\" "
        "calcMode=\"linear\" keyPoints=\"0;0;1;1\" keyTimes=\"0;{:.5f};{:.5f};1\" "
        "path=\"{}\"/></g>\n",
        name, move.from, move.to, -width / 2, width, stripes, -width / 2, width, name,
        shown_within(course_, from, to), time(course_.length), from / course_.length,
        to / course_.length, way(move.from, move.to));
  }

  const Story& story_;
  const Topology* topology_;
  std::string style_;
  Course course_;
  CellGrid grid_;
  double box_width_, box_height_;
  std::optional<MachineLayout> layout_;
  std::vector<NodeId> gpus_;
  std::vector<Spot> spots_;  // centres, by rank
  double scene_width_ = 0, scene_height_ = 0;
  double aside_ = margin, scene_top_ = 0;  // where the scene begins
};

}  // namespace

Drawing draw_story(const Story& story, const Topology* topology, Colours colours) {
  return Drawer(story, topology, colours).draw();
}

}  // namespace ringside::report
