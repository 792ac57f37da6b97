// SPDX-License-Identifier: MIT
#include "ringside/topology/writers/json.hpp"

#include "ringside/topology/writers/json_value.hpp"

namespace ringside {
namespace {

template <class Value>
void put(Json& json, const char* key, const std::optional<Value>& value) {
  if (value) json[key] = *value;
}

Json node_json(const Node& node) {
  Json json = {{"name", node.name}, {"kind", to_string(node.kind)}};
  if (node.box != 0) json["box"] = node.box;
  put(json, "number", node.number);
  if (node.address) json["address"] = to_string(*node.address);
  put(json, "model", node.model);
  if (!node.details.empty()) json["details"] = node.details;
  if (node.origin == Origin::inferred) json["inferred"] = true;
  return json;
}

/// What may differ between the directions of a link.
Json direction_json(const Link& link) {
  Json json = Json::object();
  put(json, "generation", link.generation);
  put(json, "width", link.width);
  put(json, "most_generation", link.most_generation);
  put(json, "most_width", link.most_width);
  put(json, "count", link.count);
  put(json, "gb_per_s", link.bandwidth);
  return json;
}

Json link_json(const Topology& topology, LinkId id) {
  const Link& link = topology.link(id);
  Json json = {{"from", topology.node(link.from).name},
               {"to", topology.node(link.to).name},
               {"kind", to_string(link.kind)}};
  json.update(direction_json(link));
  if (link.origin == Origin::inferred) json["inferred"] = true;
  Json back = direction_json(topology.link(Topology::reverse(id)));
  if (back != direction_json(link)) json["back"] = std::move(back);
  return json;
}

}  // namespace

Json topology_json_value(const Topology& topology) {
  Json json = {{"ringside_topology", 1}};
  if (!topology.name.empty()) json["name"] = topology.name;
  json["nodes"] = Json::array();
  for (const auto& node : topology.nodes()) json["nodes"].push_back(node_json(node));
  json["links"] = Json::array();
  for (LinkId id = 0; id < static_cast<LinkId>(topology.links().size()); id += 2)
    json["links"].push_back(link_json(topology, id));
  const auto name = [&](NodeId id) { return topology.node(id).name; };
  if (!topology.undecided.empty()) json["undecided"] = Json::array();
  for (const auto& pair : topology.undecided)
    json["undecided"].push_back({{"first", name(pair.first)},
                                 {"second", name(pair.second)},
                                 {"at_least", to_string(pair.at_least)},
                                 {"at_most", to_string(pair.at_most)}});
  if (!topology.peer_access.empty()) json["peer_access"] = Json::array();
  for (const auto& access : topology.peer_access)
    json["peer_access"].push_back({{"from", name(access.from)},
                                   {"to", name(access.to)},
                                   {"capability", access.capability},
                                   {"status", access.status}});
  return json;
}

std::string topology_json(const Topology& topology) {
  return dump_json(topology_json_value(topology));
}

}  // namespace ringside
