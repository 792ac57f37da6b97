// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/own_json.hpp"

#include <algorithm>

#include "ringside/base/error.hpp"
#include "ringside/base/json.hpp"
#include "ringside/base/text.hpp"
#include "ringside/topology/readers/json_text.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {
namespace {

constexpr JsonLimits limits = {.bytes = std::size_t{64} << 20, .depth = 32, .values = 5'000'000};
constexpr std::int64_t most_number = 1 << 30;
/// A fat tree of 512 boxes has 30,000.
constexpr std::size_t most_nodes = 1 << 17;

std::optional<int> whole(const JsonValue& object, std::string_view key, std::int64_t least = 0) {
  const auto value = object.find(key);
  return value ? std::optional(static_cast<int>(value->integer(least, most_number))) : std::nullopt;
}

Origin origin_of(const JsonValue& object) {
  const auto inferred = object.find("inferred");
  return inferred && inferred->boolean() ? Origin::inferred : Origin::read;
}

template <class Result, class Parse>
Result named(const JsonValue& value, Parse parse) {
  const auto result = parse(value.text());
  if (!result) value.fail("not one of the known words: " + quote(value.text()));
  return *result;
}

LinkClass class_named(const JsonValue& value) {
  for (int i = 0; i <= static_cast<int>(LinkClass::unreachable); ++i)
    if (to_string(static_cast<LinkClass>(i)) == value.text()) return static_cast<LinkClass>(i);
  value.fail("not one of the known classes: " + quote(value.text()));
}

Node read_node(const JsonValue& json) {
  json.only({"name", "kind", "box", "number", "address", "model", "details", "inferred"});
  Node node;
  node.name = json["name"].text();
  node.kind = named<NodeKind>(json["kind"], node_kind_from);
  node.box = whole(json, "box").value_or(0);
  node.number = whole(json, "number", -1);
  if (const auto address = json.find("address"))
    node.address = named<PciAddress>(*address, parse_pci_address);
  if (const auto model = json.find("model")) node.model = model->text();
  if (const auto details = json.find("details"))
    for (const auto& [key, value] : details->fields())
      node.details[std::string(key)] = value.text();
  node.origin = origin_of(json);
  return node;
}

void read_direction(const JsonValue& json, Link& link) {
  link.generation = whole(json, "generation");
  link.width = whole(json, "width");
  link.most_generation = whole(json, "most_generation");
  link.most_width = whole(json, "most_width");
  link.count = whole(json, "count");
  link.bandwidth.reset();
  if (const auto bandwidth = json.find("gb_per_s")) {
    link.bandwidth = bandwidth->number();
    if (*link.bandwidth < 0) bandwidth->fail("a bandwidth is not negative");
  }
}

NodeId node_named(const Topology& topology, const JsonValue& value) {
  const auto id = topology.find(value.text());
  if (!id) value.fail("there is no node " + quote(value.text()));
  return *id;
}

void read_link(const JsonValue& json, Topology& topology) {
  json.only({"from", "to", "kind", "generation", "width", "most_generation", "most_width", "count",
             "gb_per_s", "inferred", "back"});
  Link link;
  link.from = node_named(topology, json["from"]);
  link.to = node_named(topology, json["to"]);
  link.kind = named<LinkKind>(json["kind"], link_kind_from);
  link.origin = origin_of(json);
  read_direction(json, link);
  const LinkId id = topology.connect(link);
  if (const auto back = json.find("back"))
    read_direction(*back, topology.link(Topology::reverse(id)));
}

}  // namespace

Topology topology_from_json(const JsonValue& root) {
  if (root["ringside_topology"].integer() != 1)
    root["ringside_topology"].fail("only version 1 of the format is known");
  root.only({"ringside_topology", "name", "nodes", "links", "undecided", "peer_access"});
  Topology topology;
  if (const auto name = root.find("name")) topology.name = name->text();
  (void)root["nodes"].size(0, most_nodes);
  for (const auto& node : root["nodes"].items()) topology.add(read_node(node));
  for (const auto& link : root["links"].items()) read_link(link, topology);
  topology.check_depth();
  if (const auto pairs = root.find("undecided"))
    for (const auto& pair : pairs->items())
      topology.undecided.push_back({.first = node_named(topology, pair["first"]),
                                    .second = node_named(topology, pair["second"]),
                                    .at_least = class_named(pair["at_least"]),
                                    .at_most = class_named(pair["at_most"])});
  if (const auto accesses = root.find("peer_access"))
    for (const auto& access : accesses->items())
      topology.peer_access.push_back({.from = node_named(topology, access["from"]),
                                      .to = node_named(topology, access["to"]),
                                      .capability = access["capability"].text(),
                                      .status = access["status"].text()});
  return topology;
}

Topology parse_topology_json(std::string_view text) {
  const JsonDocument document(text, "topology", limits);
  const auto root = document.root();
  if (root.is_object())
    if (const auto inner = root.find("topology")) return topology_from_json(*inner);
  return topology_from_json(root);
}

std::vector<Reading> read_own_json(const Text& text) {
  std::vector<Reading> readings;
  for (const auto& section : json_sections(text, "\"ringside_topology\""))
    readings.push_back(Reading{.reader = "Ringside's topology JSON",
                               .source = {},
                               .first_line = section.first_line,
                               .last_line = section.last_line,
                               .facts = parse_topology_json(section.json),
                               .findings = {}});
  return readings;
}

}  // namespace ringside
