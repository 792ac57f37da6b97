// SPDX-License-Identifier: MIT
#include "ringside/tools/report/machine_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace ringside::report {
namespace {

constexpr double margin = 24;
constexpr double box_gap = 40;

bool is_device(NodeKind kind) { return kind == NodeKind::gpu || kind == NodeKind::nic; }
bool is_switch_of_fabric(NodeKind kind) {
  return kind == NodeKind::nvswitch || kind == NodeKind::network_switch;
}
bool is_arc(const Topology& topology, const Link& link) {
  return topology.node(link.from).kind == topology.node(link.to).kind && !is_tree_link(link.kind) &&
         !is_switch_of_fabric(topology.node(link.from).kind);
}

std::string text(Spot spot) { return fmt::format("{:.1f} {:.1f}", spot.x, spot.y); }

}  // namespace

/// Columns by walking the trees, rows by how far down a node is.
class LayoutMaker {
 public:
  LayoutMaker(const Topology& topology, const LayoutStyle& style)
      : topology_(topology), style_(style) {
    layout_.topology_ = &topology;
    layout_.place_.assign(topology.nodes().size(), -1);
  }

  MachineLayout make() {
    std::set<int> boxes;
    for (const auto& node : topology_.nodes()) boxes.insert(node.box);
    for (const int box : boxes) {
      if (box != *boxes.begin()) next_ += box_gap;
      place_box(box);
    }
    place_fabric(NodeKind::nvswitch);
    if (style_.network) place_fabric(NodeKind::network_switch);
    set_rows();
    return std::move(layout_);
  }

 private:
  /// End points of other classes tell nothing of communication.
  [[nodiscard]] bool is_drawn(NodeKind kind) const {
    return kind != NodeKind::pcie_device && (style_.network || kind != NodeKind::nic);
  }

  void place_box(int box) {
    for (const bool numa : {true, false})
      for (NodeId id = 0; id < static_cast<NodeId>(topology_.nodes().size()); ++id) {
        const Node& node = topology_.node(id);
        if (node.box == box && (node.kind == NodeKind::numa_node) == numa && is_drawn(node.kind) &&
            !is_switch_of_fabric(node.kind) && !topology_.link_up(id))
          (void)place_tree(id, 0);
      }
  }

  /// The column of the node.
  double place_tree(NodeId id, int depth) {
    std::vector<double> columns;
    for (const NodeId child : topology_.children(id))
      if (is_drawn(topology_.node(child).kind)) columns.push_back(place_tree(child, depth + 1));
    const bool leaf = columns.empty();
    const double column = leaf ? next_ : (columns.front() + columns.back()) / 2;
    if (leaf) next_ += style_.column;
    const NodeKind kind = topology_.node(id).kind;
    add(id, column, is_device(kind) ? device_row : depth);
    return column;
  }

  /// Evenly below what they join.
  void place_fabric(NodeKind kind) {
    const auto nodes = topology_.of_kind(kind);
    const int row = kind == NodeKind::nvswitch ? nvswitch_row : network_row;
    // Switches that no device hangs on stand below the others.
    std::map<int, std::vector<NodeId>> by_row;
    for (const NodeId id : nodes) {
      const auto& links = topology_.links_from(id);
      const bool near = std::ranges::any_of(links, [&](LinkId link) {
        return is_device(topology_.node(topology_.link(link).to).kind);
      });
      by_row[near || kind == NodeKind::nvswitch ? row : row + 1].push_back(id);
    }
    for (const auto& [at, ids] : by_row) {
      const double step = next_ / static_cast<double>(ids.size());
      for (std::size_t i = 0; i < ids.size(); ++i)
        add(ids[i], (static_cast<double>(i) + 0.5) * step - style_.column / 2, at);
    }
  }

  void add(NodeId id, double column, int row) {
    const bool device = is_device(topology_.node(id).kind);
    layout_.place_[static_cast<std::size_t>(id)] = static_cast<int>(layout_.nodes_.size());
    layout_.nodes_.push_back({.id = id,
                              .centre = {column + margin + style_.column / 2, 0},
                              .width = device ? style_.device_width : style_.other_width,
                              .height = device ? style_.device_height : style_.other_height});
    rows_.push_back(row);
  }

  /// Rows that nobody stands in take no room; arcs below the devices do.
  void set_rows() {
    double deepest = 0;
    bool arcs_above = false;
    for (const auto& link : topology_.links())
      if (layout_.place_[static_cast<std::size_t>(link.from)] >= 0 &&
          layout_.place_[static_cast<std::size_t>(link.to)] >= 0 && is_arc(topology_, link)) {
        arcs_above |= !is_device(topology_.node(link.from).kind);
        if (is_device(topology_.node(link.from).kind))
          deepest = std::max(deepest, arc_depth(distance(link)));
      }
    const std::set<int> used(rows_.begin(), rows_.end());
    std::map<int, double> heights;
    double y = margin + style_.other_height / 2 + (arcs_above ? 26 : 0);
    double bottom = y;
    for (const int row : used) {
      heights[row] = y;
      const double tall = row == device_row ? style_.device_height : style_.other_height;
      bottom = y + tall / 2 + (row == device_row ? deepest : 0);
      y += style_.row + (row == device_row ? deepest * 0.6 + (tall - style_.other_height) / 2 : 0);
      // The row above leaves room for tall devices.
      if (used.upper_bound(row) != used.end() && *used.upper_bound(row) == device_row)
        y += (style_.device_height - style_.other_height) / 2;
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) layout_.nodes_[i].centre.y = heights[rows_[i]];
    layout_.width_ = next_ + 2 * margin;
    layout_.height_ = bottom + margin;
  }

  [[nodiscard]] double distance(const Link& link) const {
    return std::abs(layout_.find(link.from)->centre.x - layout_.find(link.to)->centre.x);
  }

 public:
  /// How far an arc over so many pixels goes down.
  static double arc_depth(double pixels) { return 14 + 0.16 * pixels; }

 private:
  static constexpr int device_row = 1000, nvswitch_row = 1001, network_row = 1002;

  const Topology& topology_;
  const LayoutStyle& style_;
  MachineLayout layout_;
  std::vector<int> rows_;  // by index in nodes_
  double next_ = 0;
};

std::optional<MachineLayout> MachineLayout::of(const Topology& topology, const LayoutStyle& style) {
  const auto devices = topology.gpus().size() + topology.nics().size();
  if (devices == 0 || devices > most_devices_drawn) return std::nullopt;
  return LayoutMaker(topology, style).make();
}

const PlacedNode* MachineLayout::find(NodeId id) const {
  const int place = place_.at(static_cast<std::size_t>(id));
  return place < 0 ? nullptr : &nodes_[static_cast<std::size_t>(place)];
}

bool MachineLayout::draws(LinkId id) const {
  const Link& link = topology_->link(id);
  return find(link.from) != nullptr && find(link.to) != nullptr;
}

MachineLayout::Curve MachineLayout::curve(LinkId id) const {
  const Link& link = topology_->link(id);
  const PlacedNode &from = *find(link.from), &to = *find(link.to);
  Curve curve{.from = from.centre, .bend = {}, .to = to.centre, .straight = true};
  if (is_arc(*topology_, link)) {
    // Devices are joined below, processors above.
    const double side = is_device(topology_->node(link.from).kind) ? 1 : -1;
    const double pixels = std::abs(from.centre.x - to.centre.x);
    curve.from.y += side * from.height / 2;
    curve.to.y += side * to.height / 2;
    const double depth = side > 0 ? LayoutMaker::arc_depth(pixels) : 22;
    curve.bend = {(curve.from.x + curve.to.x) / 2, curve.from.y + side * 2 * depth};
    curve.straight = false;
  } else if (from.centre.y != to.centre.y) {
    const double down = to.centre.y > from.centre.y ? 1 : -1;
    curve.from.y += down * from.height / 2;
    curve.to.y -= down * to.height / 2;
  }
  if (curve.straight)
    curve.bend = {(curve.from.x + curve.to.x) / 2, (curve.from.y + curve.to.y) / 2};
  return curve;
}

std::string MachineLayout::path(LinkId id, double aside) const {
  Curve curve = this->curve(id);
  const double dx = curve.to.x - curve.from.x, dy = curve.to.y - curve.from.y;
  const double length = std::max(std::hypot(dx, dy), 1.0);
  const Spot shift{-dy / length * aside, dx / length * aside};
  for (Spot* spot : {&curve.from, &curve.bend, &curve.to}) {
    spot->x += shift.x;
    spot->y += shift.y;
  }
  if (curve.straight) return fmt::format("M{} L{}", text(curve.from), text(curve.to));
  return fmt::format("M{} Q{} {}", text(curve.from), text(curve.bend), text(curve.to));
}

Spot MachineLayout::middle(LinkId id) const {
  const Curve curve = this->curve(id);
  if (curve.straight) return curve.bend;
  return {(curve.from.x + curve.to.x + 2 * curve.bend.x) / 4,
          (curve.from.y + curve.to.y + 2 * curve.bend.y) / 4};
}

std::string MachineLayout::way(const std::vector<LinkId>& links) const {
  std::string path;
  for (const LinkId id : links) {
    if (!draws(id)) return "";
    const Curve curve = this->curve(id);
    if (path.empty()) path = "M" + text(find(topology_->link(id).from)->centre);
    path += fmt::format(" L{}", text(curve.from));
    path += curve.straight ? fmt::format(" L{}", text(curve.to))
                           : fmt::format(" Q{} {}", text(curve.bend), text(curve.to));
    path += fmt::format(" L{}", text(find(topology_->link(id).to)->centre));
  }
  return path;
}

}  // namespace ringside::report
