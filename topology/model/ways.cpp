// SPDX-License-Identifier: MIT
#include "ringside/topology/model/ways.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "ringside/base/error.hpp"
#include "ringside/topology/describe.hpp"
#include "ringside/topology/model/identify.hpp"

namespace ringside {
namespace {

constexpr double giga = 1e9, micro = 1e-6;

std::size_t index(int id) { return static_cast<std::size_t>(id); }

bool is_root(const Node& node) {
  return node.kind == NodeKind::host_bridge || node.kind == NodeKind::numa_node;
}

/// Full duplex of a GPU's link: measured with a flow each way and with three each way. What is
/// between is taken to be like the fewer up to four flows, then half way.
std::vector<double> endpoint_curve(const LinkModel& model) {
  const double both = model.value("pcie.both_ways");
  const double dense = std::min(both, model.value("pcie.dense"));
  return {1, both, both, both, (both + dense) / 2, dense};
}

/// Full duplex of a switch's uplink: measured with a flow each way and with sixteen.
std::vector<double> uplink_curve(const LinkModel& model) {
  const double both = model.value("pcie.both_ways");
  const double dense = std::min(both, model.value("pcie.uplink_dense"));
  const double middle = (both + dense) / 2;
  return {1, both, both, both, middle, middle, middle, dense};
}

/// The host bridge (or what stands for it) above a device, and the links up to it.
std::optional<NodeId> root_above(const Topology& topology, NodeId node) {
  for (auto up = topology.link_up(node); up; up = topology.link_up(topology.link(*up).to))
    if (is_root(topology.node(topology.link(*up).to))) return topology.link(*up).to;
  return std::nullopt;
}

}  // namespace

Ways::Ways(const Topology& topology, const LinkModel& model, const MachineSettings& settings)
    : topology_(topology),
      model_(model),
      settings_(settings),
      routes_(topology),
      gpus_(topology.gpus()),
      both_ways_(topology.links().size() / 2, -1),
      both_ways_with_host_(topology.links().size() / 2, -1),
      memory_(topology.nodes().size(), -1),
      to_memory_(topology.nodes().size(), -1),
      from_memory_(topology.nodes().size(), -1),
      collapse_(topology.nodes().size(), -1) {
  add_links();
  add_memories();
  if (settings.write_collapse) add_collapse();
}

ResourceId Ways::add(std::string name, double gb_per_s, std::vector<double> efficiency) {
  resources_.push_back(
      {.name = std::move(name), .capacity = gb_per_s * giga, .efficiency = std::move(efficiency)});
  return static_cast<ResourceId>(resources_.size()) - 1;
}

void Ways::add_links() {
  const auto links = static_cast<LinkId>(topology_.links().size());
  for (LinkId id = 0; id < links; ++id) {
    const Link& link = topology_.link(id);
    rates_.push_back(link_rate(topology_, model_, id));
    add(fmt::format("{} -> {}", topology_.node(link.from).name, topology_.node(link.to).name),
        best(id) / giga);
  }
  for (LinkId id = 0; id < links; id += 2)
    if (topology_.link(id).kind == LinkKind::pcie) add_both_ways(id);
}

void Ways::add_both_ways(LinkId id) {
  const Link& link = topology_.link(id);
  const bool ends_at_gpu = topology_.node(link.from).kind == NodeKind::gpu ||
                           topology_.node(link.to).kind == NodeKind::gpu;
  const auto ends =
      fmt::format("{} - {}", topology_.node(link.from).name, topology_.node(link.to).name);
  const double both = (best(id) + best(Topology::reverse(id))) / giga;
  both_ways_[index(id / 2)] =
      add(ends + " both ways", both, ends_at_gpu ? endpoint_curve(model_) : uplink_curve(model_));
  // One flow may cross a link up and down without loss; reads beside writes may not.
  both_ways_with_host_[index(id / 2)] =
      add(ends + " both ways with host memory", both, {1, model_.value("pcie.host_both_ways")});
}

void Ways::add_memories() {
  const double efficiency = model_.value("memory.efficiency");
  for (const NodeId id : gpus_) {
    const Node& node = topology_.node(id);
    const Figure* rate = figure_of_gpu(model_, "memory.", node);
    memory_[index(id)] =
        add(node.name + " memory",
            efficiency * (rate != nullptr ? rate->value : model_.value("memory.default")));
  }
  std::set<NodeId> hosts, roots;
  for (const NodeId id : gpus_) {
    hosts.insert(routes_.host_of(id));
    if (const auto root = root_above(topology_, id)) roots.insert(*root);
  }
  for (const NodeId id : hosts)
    if (memory_[index(id)] < 0)
      memory_[index(id)] =
          add(topology_.node(id).name + " host memory", model_.value("dram.bandwidth"));
  for (const NodeId id : roots) {
    const Figure* figure = figure_of_processor(model_, "root.memory", processor_of(topology_, id));
    if (figure == nullptr) continue;
    to_memory_[index(id)] = add(topology_.node(id).name + " to host memory", figure->value);
    from_memory_[index(id)] = add("host memory to " + topology_.node(id).name, figure->value);
  }
}

/// Only where a switch's GPUs can write to several other host bridges.
void Ways::add_collapse() {
  std::set<NodeId> roots;
  std::set<NodeId> switches;
  for (const NodeId id : gpus_) {
    if (const auto root = root_above(topology_, id)) roots.insert(*root);
    if (const auto up = topology_.link_up(id))
      if (topology_.node(topology_.link(*up).to).kind == NodeKind::pcie_switch)
        switches.insert(topology_.link(*up).to);
  }
  if (roots.size() < 3) return;
  for (const NodeId id : switches) {
    const auto up = topology_.link_up(id);
    if (!up) continue;
    const auto vendor = switch_vendor(topology_.node(id));
    const Figure* from = model_.find("switch." + vendor + ".collapse_from");
    const double first = from != nullptr ? from->value : model_.value("switch.collapse_from");
    std::vector<double> curve(static_cast<std::size_t>(std::max(1.0, first - 1)), 1.0);
    curve.push_back(model_.value("switch.collapse"));
    collapse_[index(id)] =
        add(topology_.node(id).name + " posted writes to other roots", best(*up) / giga, curve);
  }
}

bool Ways::peer_access(int from, int to) const {
  if (from == to) return true;
  if (settings_.peer_access == true) return true;
  const NodeId a = gpu(from), b = gpu(to);
  for (const auto& entry : topology_.peer_access)
    if (entry.from == a && entry.to == b && is_kept_apart(entry)) return false;
  // Between boxes NICs reach into the memory of GPUs.
  if (topology_.node(a).box != topology_.node(b).box) return true;
  if (joined_by_fabric(topology_, a, b)) return true;
  return settings_.peer_access.value_or(model_.value("pcie.peer_access") != 0);
}

bool Ways::reaches(int from, int to) const {
  return settings_.streams_through_host || peer_access(from, to);
}

Way Ways::read(Place from, int to, Mover mover) {
  if (from.host) {
    Way way = with_host(to, routes_.host_of(gpu(from.gpu)), mover, false);
    return way;
  }
  Way way;
  if (from.gpu != to)
    way = peer_access(to, from.gpu) ? between(from.gpu, to, mover, false)
                                    : staged(from.gpu, to, mover);
  way.uses.push_back({.resource = memory_[index(gpu(from.gpu))], .weight = 1});
  return way;
}

Way Ways::write(int from, Place to, Mover mover) {
  if (to.host) return with_host(from, routes_.host_of(gpu(to.gpu)), mover, true);
  Way way;
  if (from != to.gpu)
    way = peer_access(from, to.gpu) ? between(from, to.gpu, mover, true)
                                    : staged(from, to.gpu, mover);
  way.uses.push_back({.resource = memory_[index(gpu(to.gpu))], .weight = 1});
  return way;
}

/// A read is asked for first: there and back again. NICs fetch and store as copy engines do.
Way Ways::between(int from, int to, Mover mover, bool writes) {
  Way way;
  for (const auto& part : routes_.between(gpu(from), gpu(to))) {
    const Route route = redirected(part.route);
    for (const auto& leg : legs_of(route)) {
      const bool over_host = leg_goes_over_host(leg, leg.size() == route.size());
      const bool by_nic = leg.size() < route.size() && !over_host;
      const Manner manner{.mover = by_nic ? Mover::copy_engine : mover,
                          .share = part.share,
                          .toll = toll_of(leg, writes),
                          .with_host = over_host};
      take_route(way, leg, manner);
      if (over_host) take_host_memory(way, leg, manner);
      if (writes) take_collapse(way, leg, manner);
    }
    way.latency = std::max(way.latency, latency_of(route) * (writes ? 1 : 2));
  }
  return way;
}

/// Inside the box, over cables, inside the other box; one leg where no cable is passed.
std::vector<Route> Ways::legs_of(const Route& route) const {
  std::vector<Route> legs;
  std::optional<bool> on_cables;
  for (const LinkId id : route) {
    const bool is_cable = topology_.link(id).kind == LinkKind::network;
    if (on_cables != is_cable) legs.emplace_back();
    on_cables = is_cable;
    legs.back().push_back(id);
  }
  return legs;
}

/// A NIC reaches into a GPU's memory only where switches alone are between the two (NCCL's
/// NET_GDR_LEVEL is PXB); from farther away it takes data from the host's memory.
bool Ways::leg_goes_over_host(const Route& leg, bool is_all) const {
  return !is_all && std::ranges::any_of(leg, [&](LinkId id) {
    return is_root(topology_.node(topology_.link(id).from));
  });
}

/// Stored there and fetched again.
void Ways::take_host_memory(Way& way, const Route& leg, const Manner& manner) const {
  for (const LinkId id : leg) {
    const NodeId from = topology_.link(id).from;
    if (!is_root(topology_.node(from))) continue;
    const NodeId host = topology_.root(from);
    if (memory_[index(host)] >= 0)
      way.uses.push_back({.resource = memory_[index(host)], .weight = 2 * manner.share});
    return;
  }
}

Way Ways::with_host(int index_of_gpu, NodeId host, Mover mover, bool writes) {
  const NodeId id = gpu(index_of_gpu);
  Route route = routes_.to_host(id);
  const Route across = routes_.between_hosts(routes_.host_of(id), host);
  route.insert(route.end(), across.begin(), across.end());
  if (!writes) {
    std::ranges::reverse(route);
    for (auto& link : route) link = Topology::reverse(link);
  }
  Way way;
  const Manner manner{.mover = mover, .share = 1, .toll = 1, .with_host = true};
  take_route(way, route, manner);
  if (writes) take_collapse(way, route, manner);
  way.latency = latency_of(route) * (writes ? 1 : 2);
  const bool over_pcie = !route.empty() && std::ranges::any_of(route, [&](LinkId each) {
    return topology_.link(each).kind == LinkKind::pcie;
  });
  if (const auto root = root_above(topology_, id); root && over_pcie) {
    const auto limit = (writes ? to_memory_ : from_memory_)[index(*root)];
    if (limit >= 0) way.uses.push_back({.resource = limit, .weight = 1});
  }
  if (memory_[index(host)] >= 0)
    way.uses.push_back({.resource = memory_[index(host)], .weight = 1});
  return way;
}

/// Through a buffer of the host's: as work that streams through it, or as the driver copies.
Way Ways::staged(int from, int to, Mover mover) {
  const NodeId host = routes_.host_of(gpu(from));
  Way way = with_host(from, host, mover, true);
  const Way down = with_host(to, host, mover, false);
  way.uses.insert(way.uses.end(), down.uses.begin(), down.uses.end());
  way.latency += down.latency;
  if (settings_.streams_through_host) return way;
  const auto up = topology_.link_up(gpu(from));
  const bool is_old = up && topology_.link(*up).kind == LinkKind::pcie &&
                      pcie_generation_of(topology_, model_, *up) <= 3;
  const double reached = model_.value(is_old ? "staging.driver.pcie3" : "staging.driver");
  for (auto& use : way.uses) use.weight /= reached;
  way.latency = model_.value("latency.staging") * micro;
  return way;
}

void Ways::take_route(Way& way, const Route& route, const Manner& manner) const {
  for (const LinkId id : route) {
    const LinkRate& rate = rates_[index(id)];
    const double moved = manner.mover == Mover::kernel ? rate.kernel : rate.engine;
    const bool is_pcie = topology_.link(id).kind == LinkKind::pcie;
    const double weight = manner.share * rate.best() / moved * (is_pcie ? manner.toll : 1);
    way.uses.push_back({.resource = id, .weight = weight});
    const auto& duplex = manner.with_host ? both_ways_with_host_ : both_ways_;
    if (const auto both = duplex[index(id / 2)]; both >= 0)
      way.uses.push_back({.resource = both, .weight = weight});
  }
}

/// Writes that go up from a switch and past a host bridge.
void Ways::take_collapse(Way& way, const Route& route, const Manner& manner) const {
  std::optional<NodeId> leaves;
  for (const LinkId id : route) {
    const Node& from = topology_.node(topology_.link(id).from);
    if (!leaves && from.kind == NodeKind::pcie_switch &&
        topology_.link_up(topology_.link(id).from) == id)
      leaves = topology_.link(id).from;
    if (from.kind == NodeKind::host_bridge && leaves && collapse_[index(*leaves)] >= 0) {
      way.uses.push_back({.resource = collapse_[index(*leaves)], .weight = manner.share});
      return;
    }
  }
}

/// What crossing roots, sockets and some switches costs more; the dearest of them counts.
double Ways::toll_of(const Route& route, bool writes) const {
  bool crosses_root = false, crosses_socket = false, broadcom = false;
  double narrowest = std::numeric_limits<double>::infinity();
  std::string processor;
  for (const LinkId id : route) {
    const Link& link = topology_.link(id);
    if (link.kind == LinkKind::network || link.kind == LinkKind::nvlink) return 1;
    crosses_socket |= leaves_package(topology_, link);
    if (link.kind == LinkKind::pcie) narrowest = std::min(narrowest, best(id) / giga);
    const Node& from = topology_.node(link.from);
    broadcom |= from.kind == NodeKind::pcie_switch && switch_vendor(from) == "broadcom";
    if (!is_root(from)) continue;
    crosses_root = true;
    processor = processor_of(topology_, link.from);
  }
  double part = 1;
  if (crosses_root)
    if (const Figure* peer = figure_of_processor(model_, "root.peer", processor))
      part = std::min(part, peer->value);
  if (crosses_socket)  // a limit of each flow
    if (const Figure* flow = figure_of_processor(model_, "socket.flow", processor))
      part = std::min(part, flow->value / narrowest);
  if (broadcom && crosses_socket && !writes)
    part = std::min(part, model_.value("switch.broadcom.reads_across_sockets") / narrowest);
  return 1 / part;
}

/// With ACS a switch sends what goes from one of its ports to another up to the root.
Route Ways::redirected(const Route& route) const {
  for (std::size_t i = 0; i + 1 < route.size(); ++i) {
    const NodeId turn = topology_.link(route[i]).to;
    const bool goes_up = topology_.link_up(topology_.link(route[i]).from) == route[i];
    const bool goes_down = topology_.link_up(turn) != route[i + 1];
    const Node& node = topology_.node(turn);
    if (!goes_up || !goes_down || node.kind != NodeKind::pcie_switch) continue;
    const auto stated = node.details.find("acs_redirect");
    if (!settings_.acs_redirect && (stated == node.details.end() || stated->second != "on"))
      return route;
    Route up;
    for (auto link = topology_.link_up(turn); link;
         link = topology_.link_up(topology_.link(*link).to)) {
      up.push_back(*link);
      if (is_root(topology_.node(topology_.link(*link).to))) break;
    }
    Route longer(route.begin(), route.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    longer.insert(longer.end(), up.begin(), up.end());
    for (auto link = up.rbegin(); link != up.rend(); ++link)
      longer.push_back(Topology::reverse(*link));
    longer.insert(longer.end(), route.begin() + static_cast<std::ptrdiff_t>(i) + 1, route.end());
    return longer;
  }
  return route;
}

double Ways::latency_of(const Route& route) const {
  std::set<LinkKind> kinds;
  double latency = 0;
  for (std::size_t i = 0; i < route.size(); ++i) {
    const Link& link = topology_.link(route[i]);
    const bool is_new = kinds.insert(link.kind).second;
    switch (link.kind) {
      case LinkKind::pcie:
        latency += is_new ? model_.value("latency.pcie") : 0;
        break;
      case LinkKind::nvlink:
        latency += is_new ? model_.value("latency.nvlink") : 0;
        break;
      case LinkKind::xgmi:
        latency += is_new ? model_.value("latency.xgmi") : 0;
        break;
      case LinkKind::c2c:
        latency += model_.value("latency.c2c");
        break;
      case LinkKind::socket:
        latency += model_.value("latency.socket");
        break;
      case LinkKind::network:
        latency += is_new ? model_.value("latency.network") : 0;
        break;
      case LinkKind::internal:
        break;
    }
    if (i == 0) continue;
    const Node& passed = topology_.node(link.from);
    if (passed.kind == NodeKind::pcie_switch) latency += model_.value("latency.switch");
    if (passed.kind == NodeKind::host_bridge) latency += model_.value("latency.root");
    if (passed.kind == NodeKind::network_switch) latency += model_.value("latency.network_switch");
  }
  return latency * micro;
}

}  // namespace ringside
