// SPDX-License-Identifier: MIT
/// Which class of machines a topology is of.
#include <algorithm>

#include "ringside/topology/model/identify.hpp"
#include "ringside/topology/model/link_model.hpp"

namespace ringside {
namespace {

/// What of the GPUs' links tells machines apart.
struct Signs {
  bool has_nvswitch = false, has_nvlink = false, has_xgmi = false;
  bool bridges_only = true;  ///< no GPU has NVLinks to more than one other
  std::string nvlink;
};

Signs signs_of(const Topology& topology) {
  Signs signs;
  for (const NodeId gpu : topology.gpus()) {
    int peers = 0;
    for (const LinkId each : topology.links_from(gpu)) {
      const Link& link = topology.link(each);
      signs.has_xgmi |= link.kind == LinkKind::xgmi;
      if (link.kind != LinkKind::nvlink) continue;
      signs.has_nvlink = true;
      signs.has_nvswitch |= topology.node(link.to).kind == NodeKind::nvswitch;
      signs.nvlink = nvlink_kind_of(topology, link);
      ++peers;
    }
    signs.bridges_only &= peers <= 1;
  }
  return signs;
}

/// Models of cards that clouds rent out without peer access, as their users' matrices show.
bool are_rented_cards(const Topology& topology) {
  const auto is_rented = [&](NodeId gpu) {
    const auto model = topology.node(gpu).model.value_or("");
    return model.find("A10G") != std::string::npos || model.find("T4") != std::string::npos ||
           model == "L4" || model.ends_with(" L4");
  };
  const auto gpus = topology.gpus();
  return !gpus.empty() && std::ranges::all_of(gpus, is_rented) &&
         std::ranges::none_of(topology.peer_access, [](const PeerAccess& access) {
           return access.status == "OK" && access.capability != "n";
         });
}

}  // namespace

ModelChoice link_model_for(const Topology& topology) {
  const Signs signs = signs_of(topology);
  const auto choice = [](std::string_view name, std::string why) {
    return ModelChoice{.model = &link_model_named(name), .why = std::move(why)};
  };
  if (signs.has_xgmi) return choice("xgmi-mesh", "its GPUs are joined by xGMI");
  if (signs.has_nvswitch) {
    if (signs.nvlink == "nvlink5") return choice("nvswitch-blackwell", "NVLink 5 on NVSwitch");
    if (signs.nvlink == "nvlink4") return choice("nvswitch-hopper", "NVLink 4 on NVSwitch");
    if (signs.nvlink == "nvlink3") return choice("nvswitch-ampere", "NVLink 3 on NVSwitch");
    return choice("nvlink-mesh", "NVLink 2 on NVSwitch");
  }
  if (signs.has_nvlink && !signs.bridges_only)
    return choice("nvlink-mesh", "its GPUs are joined directly by NVLink");
  if (are_rented_cards(topology))
    return choice("cloud", "cards that clouds rent out without peer access");
  return choice("pcie", signs.has_nvlink ? "cards with NVLink bridges between pairs"
                                         : "cards that reach each other over PCIe only");
}

}  // namespace ringside
