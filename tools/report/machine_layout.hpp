// SPDX-License-Identifier: MIT
/// Where the parts of a machine stand in a picture. Its trees lay themselves out: processors above,
/// devices below, what joins devices directly below them. Unlike a picture by Graphviz (`ringside
/// topo --format dot`) it needs no other program, is the same everywhere, and says where a link is,
/// so that data can be shown on their way.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ringside/topology/graph.hpp"

namespace ringside::report {

struct Spot {
  double x = 0, y = 0;
};

struct PlacedNode {
  NodeId id = 0;
  Spot centre;
  double width = 0, height = 0;
};

/// How large the boxes are, in pixels.
struct LayoutStyle {
  double device_width = 84, device_height = 40;
  double other_width = 84, other_height = 30;
  double column = 104, row = 78;
  bool network = true;  ///< NICs and what joins them
};

/// More devices than that are no picture.
inline constexpr int most_devices_drawn = 40;

class MachineLayout {
 public:
  /// Nothing where there is too much to draw, or nothing.
  [[nodiscard]] static std::optional<MachineLayout> of(const Topology& topology,
                                                       const LayoutStyle& style = {});

  [[nodiscard]] double width() const { return width_; }
  [[nodiscard]] double height() const { return height_; }
  [[nodiscard]] const std::vector<PlacedNode>& nodes() const { return nodes_; }
  [[nodiscard]] const PlacedNode* find(NodeId id) const;
  /// Whether both ends are drawn.
  [[nodiscard]] bool draws(LinkId id) const;

  /// The SVG path of a directed link, `aside` pixels to the right of its direction.
  [[nodiscard]] std::string path(LinkId id, double aside) const;
  /// A place for a label.
  [[nodiscard]] Spot middle(LinkId id) const;
  /// The path of data over these links, from centre to centre.
  [[nodiscard]] std::string way(const std::vector<LinkId>& links) const;

 private:
  struct Curve {
    Spot from, bend, to;
    bool straight = true;
  };
  friend class LayoutMaker;

  [[nodiscard]] Curve curve(LinkId id) const;

  const Topology* topology_ = nullptr;
  std::vector<PlacedNode> nodes_;
  std::vector<int> place_;  // by node: index in nodes_, -1: not drawn
  double width_ = 0, height_ = 0;
};

}  // namespace ringside::report
