// SPDX-License-Identifier: MIT
#include "ringside/topology/model/link_rates.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/text.hpp"
#include "ringside/topology/model/identify.hpp"

namespace ringside {
namespace {

constexpr double giga = 1e9;
constexpr double megabits_per_gigabyte = 8000;

double pcie_bandwidth(const Topology& topology, const LinkModel& model, LinkId id) {
  const Link& link = topology.link(id);
  const int generation = pcie_generation_of(topology, model, id);
  const int width = link.width.value_or(full_pcie_width);
  if (const Figure* exact = model.find(fmt::format("pcie{}.x{}.bandwidth", generation, width)))
    return exact->value;
  return model.value(fmt::format("pcie{}.x{}.bandwidth", generation, full_pcie_width)) * width /
         full_pcie_width;
}

/// What a NIC at one of the ends says of itself, in GB/s.
std::optional<double> nic_speed(const Topology& topology, const Link& link) {
  for (const NodeId end : {link.from, link.to}) {
    const Node& node = topology.node(end);
    const auto speed = node.details.find("net0.speed");
    if (node.kind != NodeKind::nic || speed == node.details.end()) continue;
    if (const auto megabits = parse_number(speed->second); megabits && *megabits > 0)
      return *megabits / megabits_per_gigabyte;
  }
  return std::nullopt;
}

/// What data reach of a stated bandwidth.
double of_stated(const Topology& topology, const LinkModel& model, const Link& link) {
  if (link.kind == LinkKind::network) return model.value("network.efficiency");
  if (link.kind != LinkKind::nvlink) return 1;
  const auto name = nvlink_kind_of(topology, link) + ".";
  return std::max(model.value(name + "engine"), model.value(name + "kernel")) /
         model.value(name + "nominal");
}

LinkRate scaled(const LinkModel& model, const std::string& name, double links) {
  return {.engine = links * model.value(name + "engine") * giga,
          .kernel = links * model.value(name + "kernel") * giga};
}

/// Engine and kernel apart, for one link or for as many as run in parallel.
LinkRate fabric_rate(const Topology& topology, const LinkModel& model, const Link& link) {
  const auto name =
      link.kind == LinkKind::xgmi ? std::string("xgmi.") : nvlink_kind_of(topology, link) + ".";
  const LinkRate rate = scaled(model, name, link.count.value_or(1));
  if (!link.bandwidth) return rate;
  const double best = *link.bandwidth * of_stated(topology, model, link) * giga;
  return {.engine = best * rate.engine / rate.best(), .kernel = best * rate.kernel / rate.best()};
}

double other_bandwidth(const Topology& topology, const LinkModel& model, LinkId id) {
  const Link& link = topology.link(id);
  switch (link.kind) {
    case LinkKind::internal:
      return model.value("root.bandwidth");
    case LinkKind::socket: {
      if (!leaves_package(topology, link)) return model.value("root.bandwidth");
      const auto processor = processor_of(topology, link.from);
      const Figure* figure =
          processor.empty() ? nullptr : model.find("socket." + processor + ".bandwidth");
      return figure != nullptr ? figure->value : model.value("socket.bandwidth");
    }
    case LinkKind::c2c:
      return model.value("c2c.bandwidth");
    case LinkKind::network:
      return nic_speed(topology, link).value_or(model.value("network.bandwidth")) *
             model.value("network.efficiency");
    default:
      return pcie_bandwidth(topology, model, id);
  }
}

}  // namespace

LinkRate link_rate(const Topology& topology, const LinkModel& model, LinkId id) {
  const Link& link = topology.link(id);
  if (link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi)
    return fabric_rate(topology, model, link);
  const double engine = giga * (link.bandwidth ? *link.bandwidth * of_stated(topology, model, link)
                                               : other_bandwidth(topology, model, id));
  // What is stated of a PCIe link is what data reach on it, whoever moves them.
  const bool from_nominal = link.kind == LinkKind::pcie && !link.bandwidth;
  const double kernel = from_nominal ? model.value("pcie.kernel") : 1;
  return {.engine = engine, .kernel = engine * kernel};
}

double stated_bandwidth_for(const Topology& topology, const LinkModel& model, LinkId id,
                            double gb_per_s) {
  return gb_per_s / of_stated(topology, model, topology.link(id));
}

}  // namespace ringside
