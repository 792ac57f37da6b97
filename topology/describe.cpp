// SPDX-License-Identifier: MIT
#include "ringside/topology/describe.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ringside/base/text.hpp"

namespace ringside {
namespace {

std::string describe_pcie(const Link& link) {
  std::string text = "PCIe";
  if (link.generation) text += fmt::format(" {}.0", *link.generation);
  if (link.width) text += fmt::format(" x{}", *link.width);
  const bool slower =
      link.most_generation && link.generation && *link.generation < *link.most_generation;
  const bool narrower = link.most_width && link.width && *link.width < *link.most_width;
  if (slower || narrower)
    text +=
        fmt::format(" (of {}.0 x{})", link.most_generation.value_or(link.generation.value_or(0)),
                    link.most_width.value_or(link.width.value_or(0)));
  return text;
}

std::string describe_bundle(const Link& link, std::string_view name) {
  std::string text = link.count
                         ? fmt::format("{} {}{}", *link.count, name, *link.count == 1 ? "" : "s")
                         : std::string(name);
  if (link.generation) text += fmt::format(" (gen {})", *link.generation);
  return text;
}

std::string described(const Link& link) {
  switch (link.kind) {
    case LinkKind::pcie:
      return describe_pcie(link);
    case LinkKind::internal:
      return "internal";
    case LinkKind::socket:
      return "socket link";
    case LinkKind::nvlink:
      return describe_bundle(link, "NVLink");
    case LinkKind::xgmi:
      return describe_bundle(link, "xGMI link");
    case LinkKind::c2c:
      return describe_bundle(link, "C2C link");
    case LinkKind::network:
      return "network";
  }
  return "";
}

}  // namespace

std::string describe(const Link& link) {
  const std::string text = described(link);
  return link.bandwidth ? fmt::format("{}, {:g} GB/s", text, *link.bandwidth) : text;
}

std::string describe(const Node& node) {
  std::vector<std::string> parts;
  if (node.address) parts.push_back(to_string(*node.address));
  if (node.model) parts.push_back(*node.model);
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> shown = {
      {{"package", "package "},
       {"processor", ""},
       {"cpu_affinity", "cpus "},
       {"affinity", "cpu mask "},
       {"legend", ""},
       {"gpu.sm", "sm "},
       {"acs_redirect", "ACS redirect "}}};
  for (const auto& [key, title] : shown)
    if (const auto detail = node.details.find(std::string(key));
        detail != node.details.end() && !detail->second.empty())
      parts.push_back(std::string(title) + detail->second);
  if (const auto speed = node.details.find("net0.speed"); speed != node.details.end())
    if (const auto megabits = parse_int(speed->second, 1, 100'000'000))
      parts.push_back(fmt::format("{:g} Gb/s", static_cast<double>(*megabits) / 1000));
  return join(parts, ", ");
}

std::string summary(const Topology& topology) {
  static constexpr std::array<std::pair<NodeKind, std::string_view>, 5> counted = {
      {{NodeKind::gpu, "GPU"},
       {NodeKind::nic, "NIC"},
       {NodeKind::numa_node, "NUMA node"},
       {NodeKind::pcie_switch, "PCIe switch"},
       {NodeKind::nvswitch, "NVSwitch"}}};
  std::vector<std::string> parts;
  for (const auto& [kind, name] : counted) {
    const auto count = topology.of_kind(kind).size();
    if (count == 0 && kind != NodeKind::gpu) continue;
    const std::string_view plural = name.ends_with("ch") ? "es" : "s";
    parts.push_back(fmt::format("{} {}{}", count, name, count == 1 ? "" : plural));
  }
  return join(parts, ", ");
}

bool is_kept_apart(const PeerAccess& access) {
  return access.status != "OK" && access.capability != "n" && access.capability != "a";
}

std::string kept_apart_text(const Topology& topology) {
  std::map<NodeId, std::map<NodeId, std::string>> apart;
  std::set<std::string> statuses;
  std::size_t pairs = 0;
  for (const auto& access : topology.peer_access)
    if (is_kept_apart(access) && apart[access.from].emplace(access.to, access.status).second) {
      statuses.insert(access.status);
      ++pairs;
    }
  const std::size_t gpus = topology.gpus().size();
  if (pairs > 0 && pairs == gpus * (gpus - 1) && statuses.size() == 1)
    return fmt::format("none reaches another ({})\n", *statuses.begin());
  std::string text;
  for (const auto& [from, peers] : apart) {
    std::vector<std::string> names;
    for (const auto& [to, status] : peers)
      names.push_back(fmt::format("{} ({})", topology.node(to).name, status));
    text += fmt::format("{}: {}\n", topology.node(from).name, join(names, ", "));
  }
  return text;
}

}  // namespace ringside
