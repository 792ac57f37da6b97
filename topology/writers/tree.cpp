// SPDX-License-Identifier: MIT
#include "ringside/topology/writers/tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "ringside/base/text.hpp"
#include "ringside/topology/describe.hpp"
#include "ringside/topology/path.hpp"

namespace ringside {
namespace {

/// Beyond these, a list of pairs is cut.
constexpr std::size_t most_pairs = 6;
constexpr std::size_t most_links = 16;

std::string_view marked(Origin origin) { return origin == Origin::inferred ? " [inferred]" : ""; }

class TreeWriter {
 public:
  explicit TreeWriter(const Topology& topology) : topology_(topology) {}

  std::string write() {
    for (NodeId id = 0; id < static_cast<NodeId>(topology_.nodes().size()); ++id)
      if (!topology_.link_up(id) && belongs_to_tree(id)) write_node(id, "", "");
    write_links(LinkKind::socket, "between NUMA nodes");
    write_links(LinkKind::nvlink, "NVLink");
    write_links(LinkKind::xgmi, "xGMI");
    write_links(LinkKind::c2c, "chip to chip");
    write_links(LinkKind::network, "network");
    return std::move(text_);
  }

 private:
  [[nodiscard]] bool belongs_to_tree(NodeId id) const {
    const NodeKind kind = topology_.node(id).kind;
    return kind != NodeKind::nvswitch && kind != NodeKind::network_switch;
  }

  void write_node(NodeId id, const std::string& branch, const std::string& below) {
    const Node& node = topology_.node(id);
    const auto facts = describe(node);
    const auto up = topology_.link_up(id);
    const bool shows_link = up && topology_.link(*up).kind == LinkKind::pcie;
    text_ += fmt::format("{}{}{}{}{}{}\n", branch, node.name, shows_link ? "  " : "",
                         shows_link ? describe(topology_.link(*up)) : "",
                         facts.empty() ? "" : "  (" + facts + ")", marked(node.origin));
    const auto children = topology_.children(id);
    for (std::size_t i = 0; i < children.size(); ++i) {
      const bool last = i + 1 == children.size();
      write_node(children[i], below + (last ? "`- " : "|- "), below + (last ? "   " : "|  "));
    }
  }

  /// One line for each first end, and one for all links that are alike when they are many.
  void write_links(LinkKind kind, std::string_view title) {
    std::map<std::string, std::vector<std::string>> by_description;
    std::vector<std::string> order;
    for (LinkId id = 0; id < static_cast<LinkId>(topology_.links().size()); id += 2) {
      const Link& link = topology_.link(id);
      if (link.kind != kind) continue;
      const auto words = describe(link) + std::string(marked(link.origin));
      auto& pairs = by_description[words];
      if (pairs.empty()) order.push_back(words);
      pairs.push_back(topology_.node(link.from).name + "-" + topology_.node(link.to).name);
    }
    if (order.empty()) return;
    text_ += fmt::format("{}:\n", title);
    for (const auto& words : order)
      text_ += fmt::format("  {}: {}\n", words, join(by_description[words], " "));
  }

  const Topology& topology_;
  std::string text_;
};

}  // namespace

std::string tree_text(const Topology& topology) { return TreeWriter(topology).write(); }

std::string shared_links_text(const Topology& topology) {
  const auto gpus = topology.gpus();
  std::string text;
  std::size_t listed = 0;
  const auto contended = contended_links(topology, gpus);
  for (const auto& use : contended) {
    if (++listed > most_links) {
      text += fmt::format("  ... and {} more links\n", contended.size() - most_links);
      break;
    }
    const Link& link = topology.link(use.link);
    std::vector<std::string> pairs;
    for (const auto& [from, to] : use.pairs)
      if (pairs.size() < most_pairs)
        pairs.push_back(topology.node(from).name + ">" + topology.node(to).name);
    text += fmt::format("  {} > {} ({}): {} pairs: {}{}\n", topology.node(link.from).name,
                        topology.node(link.to).name, describe(link), use.pairs.size(),
                        join(pairs, " "), use.pairs.size() > most_pairs ? " ..." : "");
  }
  return text;
}

}  // namespace ringside
