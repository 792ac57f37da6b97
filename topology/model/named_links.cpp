// SPDX-License-Identifier: MIT
#include "ringside/topology/model/named_links.hpp"

namespace ringside {
namespace {

LinkId count_of(const Topology& topology) { return static_cast<LinkId>(topology.links().size()); }

}  // namespace

std::vector<std::string> link_names(const Topology& topology) {
  std::vector<std::string> names;
  for (LinkId id = 0; id < count_of(topology); id += 2)
    names.push_back(topology.node(topology.link(id).from).name + "-" +
                    topology.node(topology.link(id).to).name);
  return names;
}

std::vector<LinkId> links_named(const Topology& topology, std::string_view ends) {
  std::vector<LinkId> found;
  // Names may have dashes themselves: every one may be the one between them.
  for (auto dash = ends.find('-'); dash != std::string_view::npos;
       dash = ends.find('-', dash + 1)) {
    const auto first = topology.find(ends.substr(0, dash));
    const auto second = topology.find(ends.substr(dash + 1));
    if (!first || !second) continue;
    for (LinkId id = 0; id < count_of(topology); ++id) {
      const Link& link = topology.link(id);
      if ((link.from == *first && link.to == *second) ||
          (link.from == *second && link.to == *first))
        found.push_back(id);
    }
  }
  return found;
}

Topology part_of(const Topology& topology, const std::function<bool(NodeId)>& keeps_node,
                 const std::function<bool(LinkId)>& keeps_link) {
  Topology part;
  part.name = topology.name;
  std::vector<NodeId> id_in_part(topology.nodes().size(), -1);
  const auto in_part = [&](NodeId id) -> NodeId& {
    return id_in_part[static_cast<std::size_t>(id)];
  };
  for (NodeId id = 0; id < static_cast<NodeId>(topology.nodes().size()); ++id)
    if (keeps_node(id)) in_part(id) = part.add(topology.node(id));
  for (LinkId id = 0; id < count_of(topology); id += 2) {
    Link there = topology.link(id), back = topology.link(Topology::reverse(id));
    if (!keeps_link(id) || in_part(there.from) < 0 || in_part(there.to) < 0) continue;
    there.from = back.to = in_part(there.from);
    there.to = back.from = in_part(there.to);
    const LinkId added = part.connect(there);
    part.link(Topology::reverse(added)) = back;
  }
  for (auto pair : topology.undecided) {
    if (in_part(pair.first) < 0 || in_part(pair.second) < 0) continue;
    pair.first = in_part(pair.first);
    pair.second = in_part(pair.second);
    part.undecided.push_back(pair);
  }
  for (auto access : topology.peer_access) {
    if (in_part(access.from) < 0 || in_part(access.to) < 0) continue;
    access.from = in_part(access.from);
    access.to = in_part(access.to);
    part.peer_access.push_back(std::move(access));
  }
  return part;
}

}  // namespace ringside
