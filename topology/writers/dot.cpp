// SPDX-License-Identifier: MIT
#include "ringside/topology/writers/dot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "ringside/base/graphviz.hpp"
#include "ringside/topology/describe.hpp"

namespace ringside {
namespace {

struct Look {
  std::string_view shape, fill;
};

Look look_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::gpu:
      return {"box", "#d5ecc2"};
    case NodeKind::nic:
      return {"box", "#fbe3b9"};
    case NodeKind::pcie_switch:
      return {"ellipse", "#dbe7f5"};
    case NodeKind::host_bridge:
      return {"house", "#eeeeee"};
    case NodeKind::numa_node:
      return {"box3d", "#e4dcf1"};
    case NodeKind::nvswitch:
      return {"hexagon", "#c5e3ad"};
    case NodeKind::network_switch:
      return {"octagon", "#fbe3b9"};
    case NodeKind::pcie_device:
      return {"box", "#ffffff"};
  }
  return {"box", "#ffffff"};
}

std::string_view colour_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink:
    case LinkKind::xgmi:
    case LinkKind::c2c:
      return "#4c8a1f";
    case LinkKind::socket:
      return "#7a5cab";
    case LinkKind::network:
      return "#b0730b";
    default:
      return "#3a6ea5";
  }
}

class DotWriter {
 public:
  explicit DotWriter(const Topology& topology) : topology_(topology) {}

  std::string write() {
    text_ = fmt::format(
        "graph topology {{\n  graph [label={}, labelloc=t, fontname=Helvetica, nodesep=0.3, "
        "ranksep=0.7];\n"
        "  node [fontname=Helvetica, fontsize=11, style=filled];\n"
        "  edge [fontname=Helvetica, fontsize=9];\n",
        graphviz_string(topology_.name));
    std::set<int> boxes;
    for (const auto& node : topology_.nodes()) boxes.insert(node.box);
    for (const int box : boxes) write_box(box, boxes.size() > 1);
    for (NodeId id = 0; id < static_cast<NodeId>(topology_.nodes().size()); ++id)
      if (!written_.contains(id)) write_node(id, 2);
    for (LinkId id = 0; id < static_cast<LinkId>(topology_.links().size()); id += 2) write_link(id);
    if (has_mesh_)
      text_ += "  label=" + graphviz_string(topology_.name + " (width of the green lines: links)") +
               ";\n";
    return text_ + "}\n";
  }

 private:
  void write_box(int box, bool framed) {
    if (framed)
      text_ += fmt::format(
          "  subgraph cluster_box{0} {{\n    label=\"box {0}\"; color=\"#999999\";\n", box);
    for (NodeId id = 0; id < static_cast<NodeId>(topology_.nodes().size()); ++id)
      if (topology_.node(id).box == box && topology_.node(id).kind == NodeKind::numa_node) {
        text_ += fmt::format(
            "    subgraph cluster_{} {{\n      label=\"\"; style=rounded; color=\"#bbbbbb\";\n",
            id);
        write_tree(id);
        text_ += "    }\n";
      }
    if (framed) text_ += "  }\n";
  }

  void write_tree(NodeId id) {
    write_node(id, 6);
    for (const NodeId child : topology_.children(id)) write_tree(child);
  }

  void write_node(NodeId id, int indent) {
    written_.insert(id);
    const Node& node = topology_.node(id);
    const Look look = look_of(node.kind);
    std::string label = node.name;
    if (node.model) label += "\\n" + *node.model;
    if (node.address && node.kind != NodeKind::pcie_switch)
      label += "\\n" + to_string(*node.address);
    text_ += fmt::format("{:{}}n{} [label=\"{}\", shape={}, fillcolor=\"{}\"{}];\n", "", indent, id,
                         escaped(label), look.shape, look.fill,
                         node.origin == Origin::inferred ? ", style=\"filled,dashed\"" : "");
  }

  /// Backslash n stays what it is.
  static std::string escaped(std::string_view label) {
    std::string result;
    for (const char c : label) {
      if (c == '"') result += '\\';
      result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return result;
  }

  void write_link(LinkId id) {
    const Link& link = topology_.link(id);
    const bool tree = is_tree_link(link.kind);
    const bool downwards = tree || link.kind == LinkKind::network ||
                           topology_.node(link.to).kind == NodeKind::nvswitch;
    // In a tree the parent is above; a fabric's switch, and a network's, below the devices.
    const NodeId above = tree ? link.to : link.from;
    const NodeId below = tree ? link.from : link.to;
    text_ += fmt::format("  n{} -- n{} [color=\"{}\"", above, below, colour_of(link.kind));
    if (link.origin == Origin::inferred) text_ += ", style=dashed";
    if (!downwards) text_ += ", constraint=false";
    // A mesh is drawn below the GPUs; its labels would hide it, so its width tells the links.
    const bool mesh = !downwards && (link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi);
    if (mesh)
      text_ += fmt::format(", tailport=s, headport=s, penwidth={}, tooltip={}",
                           std::min(link.count.value_or(1), 6), graphviz_string(short_label(link)));
    else if (link.kind != LinkKind::internal)
      text_ += fmt::format(", label={}", graphviz_string(short_label(link)));
    text_ += "];\n";
    has_mesh_ |= mesh;
  }

  static std::string short_label(const Link& link) {
    if (link.kind == LinkKind::nvlink && link.count) return fmt::format("NV{}", *link.count);
    if (link.kind == LinkKind::socket)
      return link.bandwidth ? fmt::format("{:g} GB/s", *link.bandwidth) : "";
    if (link.kind == LinkKind::network)
      return link.bandwidth ? fmt::format("{:g} GB/s", *link.bandwidth) : "";
    const std::string text = describe(link);
    return text == "PCIe" ? "" : text;
  }

  const Topology& topology_;
  std::set<NodeId> written_;
  bool has_mesh_ = false;
  std::string text_;
};

}  // namespace

std::string topology_dot(const Topology& topology) { return DotWriter(topology).write(); }

}  // namespace ringside
