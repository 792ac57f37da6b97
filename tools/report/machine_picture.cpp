// SPDX-License-Identifier: MIT
#include "ringside/tools/report/machine_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "ringside/base/text.hpp"
#include "ringside/tools/report/html.hpp"
#include "ringside/tools/report/machine_layout.hpp"
#include "ringside/topology/describe.hpp"

namespace ringside::report {
namespace {

/// Colours have defaults, so that the picture stands by itself as well.
constexpr std::string_view style = R"(
.machine{font:12px system-ui,sans-serif}
.machine text{fill:var(--ink,#1d2733);text-anchor:middle}
.machine .small{font-size:10px;fill:var(--dim,#5b6673)}
.machine .halo{paint-order:stroke;stroke:var(--page,#fff);stroke-width:6px;stroke-linejoin:round}
.machine .box rect{fill:var(--panel,#fff);stroke:var(--line,#8894a3)}
.machine .gpu rect{fill:var(--gpu,#e3efe0)}
.machine .nic rect,.machine .network_switch rect{fill:var(--nic,#faeed6)}
.machine .inferred rect{stroke-dasharray:4 3}
.machine .link{fill:none;stroke-width:2.4;stroke:var(--load-0,#c3ccd6)}
.machine .load-1{stroke:var(--load-1,#9ecae1)}
.machine .load-2{stroke:var(--load-2,#5aa5cf)}
.machine .load-3{stroke:var(--load-3,#e6a532);stroke-width:3}
.machine .load-4{stroke:var(--load-4,#e0702c);stroke-width:3.6}
.machine .load-5{stroke:var(--load-5,#b3202c);stroke-width:4.4}
)";

constexpr double giga = 1e9, percent = 100;

std::string link_name(const Topology& topology, LinkId id) {
  const Link& link = topology.link(id);
  return topology.node(link.from).name + " -> " + topology.node(link.to).name;
}

std::string node_svg(const Topology& topology, const PlacedNode& placed) {
  const Node& node = topology.node(placed.id);
  std::string name = node.name;
  constexpr std::size_t longest = 12;
  if (name.size() > longest) name = name.substr(0, longest - 1) + "\u2026";
  std::string below = node.kind == NodeKind::gpu ? node.model.value_or("") : "";
  constexpr std::size_t longest_model = 14;
  if (below.size() > longest_model) below = below.substr(0, longest_model - 1) + "\u2026";
  const double x = placed.centre.x, y = placed.centre.y;
  std::string svg = fmt::format(
      "<g class=\"box {}{}\"><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.0f}\" "
      "height=\"{:.0f}\" rx=\"5\"/><text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
      to_string(node.kind), node.origin == Origin::inferred ? " inferred" : "",
      escaped(node.name + (describe(node).empty() ? "" : ": " + describe(node))),
      x - placed.width / 2, y - placed.height / 2, placed.width, placed.height, x,
      y + (below.empty() ? 4 : -2), escaped(name));
  if (!below.empty())
    svg += fmt::format("<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x, y + 12,
                       escaped(below));
  return svg + "</g>\n";
}

class Picture {
 public:
  Picture(const MachineView& view, const MachineLayout& layout, std::size_t number)
      : view_(view), layout_(layout), number_(number) {
    if (!view.loads.empty())
      for (const auto& load : view.loads.front().links) loads_[load.link] = &load;
  }

  std::string draw() {
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"machine\" id=\"machine-{}\" "
        "viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" role=\"img\" "
        "aria-label=\"{}\">\n<style>{}</style>\n",
        number_, layout_.width(), layout_.height(), layout_.width(), layout_.height(),
        escaped(fmt::format("The machine {}: {}", view_.name, summary(view_.topology))), style);
    const auto links = view_.topology.links().size();
    for (LinkId id = 0; id < static_cast<LinkId>(links); ++id)
      if (layout_.draws(id)) svg += link_svg(id);
    for (const auto& node : layout_.nodes()) svg += node_svg(view_.topology, node);
    // Above the boxes, or arcs would hide behind them.
    for (LinkId id = 0; id < static_cast<LinkId>(links); id += 2)
      if (layout_.draws(id)) svg += label_svg(id);
    return svg + "</svg>\n";
  }

 private:
  [[nodiscard]] std::string link_svg(LinkId id) const {
    constexpr double aside = 3;
    const std::string name = link_name(view_.topology, id);
    const auto load = loads_.find(name);
    const bool known = load != loads_.end();
    const double seconds = known ? view_.loads.front().seconds : 0;
    const int step = known ? load_step(share_of(*load->second, seconds)) : 0;
    return fmt::format(
        "<path class=\"link load-{}\" data-link=\"{}\" d=\"{}\"><title>{}</title></path>\n", step,
        escaped(name), layout_.path(id, aside),
        escaped(known ? load_words(*load->second, seconds)
                      : name + ": " + describe(view_.topology.link(id))));
  }

  /// What kind of link it is, where there is room.
  [[nodiscard]] std::string label_svg(LinkId id) const {
    const Link& link = view_.topology.link(id);
    if (link.kind == LinkKind::internal || link.kind == LinkKind::network) return "";
    const bool arc = !is_tree_link(link.kind);
    constexpr std::size_t most_labels = 40;
    if (arc && view_.topology.links().size() > most_labels) return "";
    std::string words = link.kind == LinkKind::nvlink && link.count
                            ? fmt::format("NV{}", *link.count)
                        : link.kind == LinkKind::pcie && link.generation && link.width
                            ? fmt::format("{}.0 x{}", *link.generation, *link.width)
                            : std::string();
    if (words.empty()) return "";
    const Spot spot = layout_.middle(id);
    return fmt::format("<text class=\"small halo\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", spot.x,
                       spot.y + (arc ? 12 : 3), words);
  }

  const MachineView& view_;
  const MachineLayout& layout_;
  std::size_t number_;
  std::map<std::string, const LinkLoad*> loads_;
};

}  // namespace

double share_of(const LinkLoad& load, double seconds) {
  if (!(seconds > 0) || !(load.capacity > 0)) return 0;
  return std::clamp(load.bytes / (load.capacity * seconds), 0.0, 1.0);
}

int load_step(double share) {
  if (share <= 0) return 0;
  return std::min(load_steps - 1, 1 + static_cast<int>(share * (load_steps - 1)));
}

std::string load_words(const LinkLoad& load, double seconds) {
  return fmt::format("{}: {}, {:.0f} % of {:.4g} GB/s", load.link,
                     format_bytes(static_cast<std::uint64_t>(load.bytes)),
                     percent * share_of(load, seconds), load.capacity / giga);
}

std::optional<std::string> machine_svg(const MachineView& view, std::size_t number) {
  const auto layout = MachineLayout::of(view.topology);
  if (!layout) return std::nullopt;
  return Picture(view, *layout, number).draw();
}

}  // namespace ringside::report
