// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/simulated/nccl_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "ringside/base/error.hpp"
#include "ringside/collectives/executors/simulated/nccl_rings.hpp"
#include "ringside/collectives/executors/simulated/simulate.hpp"
#include "ringside/topology/model/identify.hpp"
#include "ringside/topology/model/routes.hpp"
#include "ringside/topology/model/transfers.hpp"

namespace ringside {
namespace {

constexpr double giga = 1e9, micro = 1e-6;
constexpr std::array<std::string_view, 3> way_names = {"ring", "nvls", "pairs"};

[[noreturn]] void refuse(const NcclCall& call) {
  throw Error(ErrorCode::unsupported, fmt::format("NCCL does no {} by {}",
                                                  to_string(call.collective), to_string(call.way)));
}

void set_figure(LinkModel& model, const std::string& name, double value) {
  Figure figure = *model.find(name);
  figure.value = value;
  model.set(std::move(figure));
}

bool has_nvlink(const Topology& topology) {
  return std::ranges::any_of(topology.links(), [](const Link& link) {
    return link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi;
  });
}

/// How many boxes the ranks are in, NVLink across boxes apart.
int boxes_of(const Machine& machine, const std::vector<int>& gpus) {
  const Topology& topology = machine.topology();
  const auto nodes = topology.gpus();
  std::set<int> boxes;
  for (const int gpu : gpus)
    boxes.insert(topology.node(nodes.at(static_cast<std::size_t>(gpu))).box);
  const bool one_fabric =
      joined_by_fabric(topology, nodes.at(static_cast<std::size_t>(gpus.front())),
                       nodes.at(static_cast<std::size_t>(gpus.back())));
  return one_fabric ? 1 : static_cast<int>(boxes.size());
}

/// What a step costs inside a box: the slowest hop sets the pace.
double step_inside(const Machine& machine, const std::vector<int>& gpus) {
  const Topology& topology = machine.topology();
  if (has_nvlink(topology)) return machine.model().value("nccl.step.nvlink");
  const auto nodes = topology.gpus();
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const int from = gpus[i], to = gpus[(i + 1) % gpus.size()];
    const auto distance = link_class(topology, nodes[static_cast<std::size_t>(from)],
                                     nodes[static_cast<std::size_t>(to)]);
    if (distance.value == LinkClass::sys || machine.through_host(from, to))
      return machine.model().value("nccl.step.far");
  }
  return machine.model().value("nccl.step.pcie");
}

/// NCCL's latency of so many steps round all ranks, of which it counts those between boxes apart
/// (src/graph/tuning.cc: nsteps, nInterSteps).
double steps_seconds(const Machine& machine, const NcclCall& call, int steps, int rounds) {
  const LinkModel& model = machine.model();
  const int boxes = boxes_of(machine, call.gpus);
  const int between = boxes > 1 ? std::min(steps, rounds * boxes) : 0;
  const double inside = step_inside(machine, call.gpus);
  return micro * (model.value("nccl.call") + (steps - between) * inside +
                  between * model.value("nccl.step.network"));
}

/// All hops of all rings at once, each with all that it carries: between boxes steps are not in
/// step, and thousands of them would say the same.
double hops_seconds(const Machine& machine, const NcclCall& call) {
  const auto rings = nccl_rings(machine.topology(), call.gpus);
  std::vector<Transfer> hops;
  for (const auto& ring : rings)
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const auto gpu = [&](std::size_t place) {
        return call.gpus[static_cast<std::size_t>(ring[place % ring.size()])];
      };
      hops.push_back({.from = {.gpu = gpu(i)},
                      .to = {.gpu = gpu(i + 1)},
                      .reads = false,
                      .mover = Mover::kernel});
    }
  const double ranks = static_cast<double>(call.gpus.size());
  const double rounds = call.collective == Collective::all_reduce ? 2 : 1;
  const double bytes =
      call.bytes * rounds * (ranks - 1) / ranks / static_cast<double>(rings.size());
  return std::ranges::max(transfer_seconds(machine, hops, bytes));
}

double ring_seconds(const Machine& machine, const NcclCall& call) {
  SimulatedCall simulated{.block_elements = {}, .element_bytes = 1, .gpus = call.gpus};
  const int ranks = static_cast<int>(call.gpus.size());
  const int rounds = call.collective == Collective::all_reduce ? 2 : 1;
  const double latency = steps_seconds(machine, call, rounds * (ranks - 1), rounds);
  if (boxes_of(machine, call.gpus) > 1) return latency + hops_seconds(machine, call);
  const auto bytes = static_cast<std::size_t>(call.bytes);
  if (call.collective == Collective::all_reduce) {
    simulated.block_elements = {bytes};
    const Plan plan = all_reduce_on_rings(nccl_rings(machine.topology(), call.gpus));
    return latency + simulate(machine, plan, simulated).seconds;
  }
  const Request request{.collective = call.collective, .ranks = ranks, .root = 0, .in_place = true};
  simulated.block_elements.assign(static_cast<std::size_t>(ranks),
                                  bytes / static_cast<std::size_t>(ranks));
  return latency + simulate(machine, parse_spec("ring"), request, simulated).seconds;
}

/// All hops at once at their common rate, after the first bytes have passed them all.
double pipelined_seconds(const Machine& machine, const NcclCall& call) {
  std::vector<Transfer> hops;
  for (std::size_t i = 0; i + 1 < call.gpus.size(); ++i)
    hops.push_back({.from = {.gpu = call.gpus[i]},
                    .to = {.gpu = call.gpus[i + 1]},
                    .reads = false,
                    .mover = Mover::kernel});
  const auto seconds = transfer_seconds(machine, hops, call.bytes);
  return steps_seconds(machine, call, static_cast<int>(hops.size()), 1) + std::ranges::max(seconds);
}

double pairs_seconds(const Machine& machine, const NcclCall& call) {
  std::vector<Transfer> pairs;
  for (const int from : call.gpus)
    for (const int to : call.gpus)
      if (from != to)
        pairs.push_back(
            {.from = {.gpu = from}, .to = {.gpu = to}, .reads = false, .mover = Mover::kernel});
  const auto seconds =
      transfer_seconds(machine, pairs, call.bytes / static_cast<double>(call.gpus.size()));
  return steps_seconds(machine, call, 1, 1) + std::ranges::max(seconds);
}

/// What a GPU's links to the switch take in each direction while that reduces, in bytes per second.
double in_switch_rate(const Machine& machine, NodeId gpu) {
  const Topology& topology = machine.topology();
  for (const LinkId each : topology.links_from(gpu)) {
    const Link& link = topology.link(each);
    if (link.kind != LinkKind::nvlink || topology.node(link.to).kind != NodeKind::nvswitch)
      continue;
    const Figure* rate = machine.model().find(nvlink_kind_of(topology, link) + ".in_switch");
    if (rate != nullptr) return rate->value * link.count.value_or(1) * giga;
  }
  throw Error(ErrorCode::unsupported,
              fmt::format("{} is on no switch that reduces", topology.node(gpu).name));
}

/// What a box sends of the message while trees over the network add up the boxes' sums: all of it,
/// over all the NICs of its GPUs.
double network_seconds(const Machine& machine, const NcclCall& call,
                       const std::vector<std::vector<int>>& boxes) {
  std::vector<Transfer> transfers;
  for (std::size_t box = 0; box < boxes.size(); ++box) {
    const auto& here = boxes[box];
    const auto& next = boxes[(box + 1) % boxes.size()];
    for (std::size_t i = 0; i < here.size(); ++i)
      transfers.push_back({.from = {.gpu = here[i]},
                           .to = {.gpu = next[i % next.size()]},
                           .reads = false,
                           .mover = Mover::kernel});
  }
  const double part = call.bytes / static_cast<double>(boxes.front().size());
  return std::ranges::max(transfer_seconds(machine, transfers, part));
}

/// The switch reads S from every GPU and stores S to it; a GPU also gets and sends the S / n that
/// it sees to. So S (1 + 1/n) pass each direction of its links. Reduction and store overlap once
/// enough is under way.
double nvls_seconds(const Machine& machine, const NcclCall& call) {
  if (call.collective != Collective::all_reduce) refuse(call);
  const Topology& topology = machine.topology();
  const auto nodes = topology.gpus();
  double rate = std::numeric_limits<double>::infinity();
  std::vector<std::vector<int>> boxes;
  const bool one_fabric = boxes_of(machine, call.gpus) == 1;
  int last_box = -1;
  for (const int gpu : call.gpus) {
    const NodeId node = nodes.at(static_cast<std::size_t>(gpu));
    rate = std::min(rate, in_switch_rate(machine, node));
    const int box = one_fabric ? 0 : topology.node(node).box;
    if (box != last_box) boxes.emplace_back();
    last_box = box;
    boxes.back().push_back(gpu);
  }
  const double ranks = static_cast<double>(boxes.front().size());
  const double moving = call.bytes * (1 + 1 / ranks) / rate;
  const LinkModel& model = machine.model();
  const double start = (model.value("nccl.call") + model.value("nccl.nvls")) * micro;
  const double inside = moving + std::min(moving, model.value("nccl.nvls_fill") * micro);
  if (boxes.size() == 1) return start + inside;
  const double hops = std::ceil(std::log2(static_cast<double>(boxes.size())));
  return start + 2 * hops * model.value("nccl.step.network") * micro +
         std::max(inside, network_seconds(machine, call, boxes));
}

}  // namespace

std::string_view to_string(NcclWay way) { return way_names.at(static_cast<std::size_t>(way)); }

std::optional<NcclWay> parse_nccl_way(std::string_view name) {
  const auto found = std::ranges::find(way_names, name);
  if (found == way_names.end()) return std::nullopt;
  return static_cast<NcclWay>(found - way_names.begin());
}

NcclWay usual_nccl_way(Collective collective) {
  return collective == Collective::all_to_all ? NcclWay::pairs : NcclWay::ring;
}

Machine as_nccl_uses(MachineDescription machine) {
  LinkModel& model = machine.model;
  // NCCL's figures for steps are added as NCCL adds them: its channels send ahead, so that a slow
  // hop does not hold up every step.
  for (const auto& figure : std::vector<Figure>(model.figures))
    if (figure.name.starts_with("latency.") || figure.name.starts_with("overhead."))
      set_figure(model, figure.name, 0);
  // Copy engines, where NCCL is told to use them, leave the kernels work in local memory only.
  if (machine.settings.mover == Mover::copy_engine) set_figure(model, "pcie.kernel", 1);
  machine.settings.mover = Mover::kernel;
  machine.settings.streams_through_host = true;
  return Machine(std::move(machine.topology), std::move(machine.model), machine.settings);
}

double nccl_seconds(const Machine& machine, const NcclCall& call) {
  const bool is_all_to_all = call.collective == Collective::all_to_all;
  if (is_all_to_all != (call.way == NcclWay::pairs)) refuse(call);
  switch (call.way) {
    case NcclWay::nvls:
      return nvls_seconds(machine, call);
    case NcclWay::pairs:
      return pairs_seconds(machine, call);
    case NcclWay::ring:
      break;
  }
  switch (call.collective) {
    case Collective::all_reduce:
    case Collective::reduce_scatter:
    case Collective::all_gather:
      return ring_seconds(machine, call);
    case Collective::broadcast:
    case Collective::reduce:
      return pipelined_seconds(machine, call);
    default:
      refuse(call);
  }
}

}  // namespace ringside
