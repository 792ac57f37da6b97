// SPDX-License-Identifier: MIT
#include "ringside/topology/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <tuple>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"

namespace ringside {
namespace {

constexpr std::array<std::string_view, 8> node_kinds = {
    "gpu",         "nic",       "pcie_switch", "pcie_device",
    "host_bridge", "numa_node", "nvswitch",    "network_switch"};
constexpr std::array<std::string_view, 7> link_kinds = {"pcie", "internal", "socket", "nvlink",
                                                        "xgmi", "c2c",      "network"};
constexpr std::array<std::string_view, 10> link_classes = {"X",   "NV",   "XGMI", "PIX", "PXB",
                                                           "PHB", "NODE", "SYS",  "NET", "?"};

template <class Enum, std::size_t N>
std::optional<Enum> from_name(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

/// Far above any machine: 10 switches would be many. Keeps walks up a tree, and down, short.
constexpr int most_levels = 64;

/// Hexadecimal digits only, at most `longest` of them.
std::optional<std::uint32_t> parse_hex(std::string_view digits, std::size_t longest) {
  std::uint32_t value = 0;
  if (digits.empty() || digits.size() > longest) return std::nullopt;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string_view to_string(NodeKind kind) { return node_kinds[static_cast<std::size_t>(kind)]; }
std::string_view to_string(LinkKind kind) { return link_kinds[static_cast<std::size_t>(kind)]; }
std::string_view to_string(Origin origin) { return origin == Origin::read ? "read" : "inferred"; }
std::string_view to_string(LinkClass value) {
  return link_classes[static_cast<std::size_t>(value)];
}

std::optional<NodeKind> node_kind_from(std::string_view name) {
  return from_name<NodeKind>(node_kinds, name);
}

std::optional<LinkKind> link_kind_from(std::string_view name) {
  return from_name<LinkKind>(link_kinds, name);
}

std::optional<PciAddress> parse_pci_address(std::string_view text) {
  const auto fields = split(text, ':');
  if (fields.size() != 2 && fields.size() != 3) return std::nullopt;
  const auto last = split(fields.back(), '.');
  if (last.size() != 2) return std::nullopt;
  const auto domain =
      fields.size() == 3 ? parse_hex(fields[0], 8) : std::optional<std::uint32_t>(0);
  const auto bus = parse_hex(fields[fields.size() - 2], 2);
  const auto device = parse_hex(last[0], 2);
  const auto function = parse_hex(last[1], 1);
  if (!domain || !bus || !device || !function) return std::nullopt;
  return PciAddress{.domain = *domain,
                    .bus = static_cast<std::uint8_t>(*bus),
                    .device = static_cast<std::uint8_t>(*device),
                    .function = static_cast<std::uint8_t>(*function)};
}

std::string to_string(const PciAddress& address) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", address.domain, address.bus, address.device,
                     address.function);
}

bool is_tree_link(LinkKind kind) { return kind == LinkKind::pcie || kind == LinkKind::internal; }

NodeId Topology::add(Node node) {
  if (node.name.empty()) throw Error(ErrorCode::bad_input, "a node has no name");
  const auto id = static_cast<NodeId>(nodes_.size());
  if (!by_name_.emplace(node.name, id).second)
    throw Error(ErrorCode::bad_input, fmt::format("{} is there twice", quote(node.name)));
  nodes_.push_back(std::move(node));
  leaving_.emplace_back();
  return id;
}

LinkId Topology::connect(const Link& link) {
  const auto end = static_cast<NodeId>(nodes_.size());
  if (link.from < 0 || link.from >= end || link.to < 0 || link.to >= end)
    throw Error(ErrorCode::bad_input, "a link ends at a node that does not exist");
  if (link.from == link.to)
    throw Error(ErrorCode::bad_input,
                fmt::format("{} is linked to itself", quote(node(link.from).name)));
  if (is_tree_link(link.kind)) {
    if (link_up(link.from))
      throw Error(ErrorCode::bad_input,
                  fmt::format("{} has two parents", quote(node(link.from).name)));
    check_above(link.to, link.from);
  }
  const auto id = static_cast<LinkId>(links_.size());
  links_.push_back(link);
  links_.push_back(link);
  std::swap(links_.back().from, links_.back().to);
  leaving_[static_cast<std::size_t>(link.from)].push_back(id);
  leaving_[static_cast<std::size_t>(link.to)].push_back(reverse(id));
  return id;
}

void Topology::check_above(NodeId id, NodeId child) const {
  for (int levels = 0;; ++levels) {
    if (id == child)
      throw Error(ErrorCode::bad_input, fmt::format("{} is above itself", quote(node(id).name)));
    if (levels > most_levels)
      throw Error(ErrorCode::bad_input, fmt::format("{} is more than {} levels deep",
                                                    quote(node(child).name), most_levels));
    const auto up = link_up(id);
    if (!up) return;
    id = link(*up).to;
  }
}

void Topology::check_depth() const {
  for (NodeId id = 0; id < static_cast<NodeId>(nodes_.size()); ++id)
    if (const auto up = link_up(id)) check_above(link(*up).to, id);
}

std::optional<NodeId> Topology::find(std::string_view wanted) const {
  const auto found = by_name_.find(wanted);
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

std::optional<NodeId> Topology::find(const PciAddress& address, int box) const {
  const auto found = std::ranges::find_if(
      nodes_, [&](const Node& each) { return each.address == address && each.box == box; });
  if (found == nodes_.end()) return std::nullopt;
  return static_cast<NodeId>(found - nodes_.begin());
}

std::vector<NodeId> Topology::of_kind(NodeKind kind) const {
  std::vector<NodeId> ids;
  for (NodeId id = 0; id < static_cast<NodeId>(nodes_.size()); ++id)
    if (node(id).kind == kind) ids.push_back(id);
  if (kind != NodeKind::nic)
    std::ranges::stable_sort(ids, {}, [&](NodeId id) {
      return std::tuple(node(id).box, node(id).number.value_or(std::numeric_limits<int>::max()));
    });
  return ids;
}

std::optional<LinkId> Topology::link_up(NodeId id) const {
  for (const LinkId each : links_from(id))
    if (each % 2 == 0 && is_tree_link(link(each).kind)) return each;
  return std::nullopt;
}

std::vector<NodeId> Topology::children(NodeId id) const {
  std::vector<NodeId> below;
  for (const LinkId each : links_from(id))
    if (each % 2 == 1 && is_tree_link(link(each).kind)) below.push_back(link(each).to);
  return below;
}

NodeId Topology::root(NodeId id) const {
  while (const auto up = link_up(id)) id = link(*up).to;
  return id;
}

}  // namespace ringside
