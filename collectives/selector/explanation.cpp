// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "ringside/base/error.hpp"
#include "ringside/collectives/cost.hpp"
#include "ringside/collectives/executors/simulated/access.hpp"
#include "ringside/collectives/executors/simulated/simulate.hpp"
#include "ringside/collectives/executors/simulated/uncertainty.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/collectives/lower.hpp"
#include "ringside/collectives/selector/contenders.hpp"
#include "ringside/collectives/selector/fabric_order.hpp"
#include "ringside/collectives/selector/nccl_model.hpp"
#include "ringside/topology/model/assumptions.hpp"

namespace ringside {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// Counting steps takes a stored plan: of more ops it is left out.
constexpr std::size_t most_counted_ops = 1'000'000;

std::vector<int> gpus_of(const Machine& machine, const ExplainedCall& call) {
  if (!call.gpus.empty()) return call.gpus;
  if (call.request.ranks > machine.gpus())
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} ranks on {} GPUs", call.request.ranks, machine.gpus()));
  std::vector<int> gpus(at(call.request.ranks));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

SimulatedCall simulated_call(const ExplainedCall& call, const std::vector<int>& gpus) {
  const auto blocks = at(block_count(call.request));
  const std::size_t elements = static_cast<std::size_t>(call.bytes) / call.element_bytes / blocks;
  return {std::vector<std::size_t>(blocks, elements), call.element_bytes, gpus};
}

/// Bytes of the chunks of an op.
double bytes_of(const Op& op, int chunks_per_block, const SimulatedCall& call) {
  double bytes = 0;
  const int first = op.chunk();
  for (int chunk = first; chunk < first + op.count; ++chunk) {
    const std::size_t block = call.block_elements[at(chunk / chunks_per_block)];
    bytes += static_cast<double>(
        part_of(block, at(chunks_per_block), at(chunk % chunks_per_block)).length *
        call.element_bytes);
  }
  return bytes;
}

/// A movement between a rank that works and memory of a rank: what all ops of its kind move.
struct Movement {
  int worker = 0, memory = 0;  // ranks
  bool host = false;           // host memory of that rank
  bool writes = false;         // from the worker to the memory

  auto operator<=>(const Movement&) const = default;  // NOLINT(modernize-use-nullptr)
};
using Movements = std::map<Movement, double>;

/// Sums up what ops move between ranks.
class MovementCounter {
 public:
  MovementCounter(int chunks_per_block, const SimulatedCall& call)
      : chunks_per_block_(chunks_per_block), call_(call) {}

  template <class SlotOf>
  void add(const Op& op, const SlotOf& slot_of) {
    const double bytes = bytes_of(op, chunks_per_block_, call_);
    const auto note = [&](const Location& location, bool writes) {
      const bool host =
          location.buffer == Buffer::scratch && slot_of(location).place == ScratchSlot::Place::host;
      if (location.rank == op.rank && !host) return;
      movements_[{op.rank, location.rank, host, writes}] += bytes;
    };
    for (const Location& source : op.sources) note(source, false);
    for (const Location& destination : op.destinations) note(destination, true);
  }

  [[nodiscard]] const Movements& movements() const { return movements_; }

 private:
  int chunks_per_block_;
  const SimulatedCall& call_;
  Movements movements_;
};

bool all_reach_each_other(const AccessMatrix& access) {
  return std::all_of(access.begin(), access.end(), [](const auto& row) {
    return std::all_of(row.begin(), row.end(),
                       [](Access value) { return value == Access::direct; });
  });
}

/// What of a plan does not need the simulation.
struct Counted {
  Movements movements;
  Shape shape;
  std::string spec;
  std::optional<int> steps;
  bool lowered = false;
};

/// Steps of the unsliced plan: slices repeat them, one behind the other.
std::optional<int> steps_of(const std::string& spec, const Request& request,
                            const AccessMatrix& access, const SimulatedCall& call) {
  Spec unsliced = parse_spec(spec);
  std::erase_if(unsliced.parameters, [](const auto& each) { return each.first == "slices"; });
  const Plan plan = lower(make_plan(unsliced, request), access);
  return cost_of(plan, call.block_elements, call.element_bytes).steps;
}

Counted count(const Machine& machine, const ExplainedCall& call, const SimulatedCall& simulated,
              const std::string& spec) {
  Counted counted;
  PlanStream stream(parse_spec(spec), call.request);
  counted.shape = stream.shape();
  counted.spec = stream.spec();
  const AccessMatrix access = access_of(machine, simulated.gpus);
  MovementCounter counter(stream.shape().chunks_per_block, simulated);
  std::size_t ops = 0;
  if (all_reach_each_other(access)) {
    for (const Op* op = stream.next(); op != nullptr; op = stream.next(), ++ops)
      counter.add(*op, [&](const Location& location) {
        return stream.slots()[at(location.rank)][at(location.slot)];
      });
  } else {
    const Plan plan = lower(make_plan(spec, call.request), access);
    counted.lowered = true;
    for (; ops < plan.size(); ++ops)
      counter.add(plan.op(ops), [&](const Location& location) {
        return plan.scratch(location.rank)[at(location.slot)];
      });
  }
  if (ops <= most_counted_ops) counted.steps = steps_of(spec, call.request, access, simulated);
  counted.movements = counter.movements();
  return counted;
}

/// From whom to whom, without bytes.
Crossing crossing_of(const Movement& movement) {
  const int memory =
      movement.host && movement.memory == movement.worker ? Crossing::host_memory : movement.memory;
  return movement.writes ? Crossing{movement.worker, memory, 0}
                         : Crossing{memory, movement.worker, 0};
}

/// By directed link.
std::map<LinkId, LinkDirection> traffic_by_link(const Machine& machine, const Counted& counted,
                                                const std::vector<int>& gpus) {
  std::map<LinkId, LinkDirection> traffic;
  for (const auto& [movement, bytes] : counted.movements) {
    const int worker = gpus[at(movement.worker)];
    const Place place{gpus[at(movement.memory)], movement.host};
    const Way& way = movement.writes ? machine.write(worker, place, Mover::kernel)
                                     : machine.read(place, worker, Mover::kernel);
    const Crossing crossing = crossing_of(movement);
    for (const Use& use : way.uses) {
      const auto link = machine.link_of(use.resource);
      if (!link) continue;
      LinkDirection& direction = traffic[*link];
      // A weight above 1 is what the machine wastes; one below, a part of several ways.
      const double part = bytes * std::min(1.0, use.weight);
      direction.bytes += part;
      direction.seconds += bytes * use.weight / machine.resources()[at(use.resource)].capacity;
      const auto known = std::find_if(
          direction.crossings.begin(), direction.crossings.end(),
          [&](const auto& each) { return each.from == crossing.from && each.to == crossing.to; });
      if (known == direction.crossings.end())
        direction.crossings.push_back({crossing.from, crossing.to, part});
      else
        known->bytes += part;
    }
  }
  return traffic;
}

double slower(const LinkTraffic& link) { return std::max(link.out.seconds, link.in.seconds); }

std::vector<LinkTraffic> links_with_traffic(const Machine& machine, const Counted& counted,
                                            const std::vector<int>& gpus) {
  std::map<LinkId, LinkTraffic> by_link;  // by the first of both directions
  const Topology& topology = machine.topology();
  const auto traffic = traffic_by_link(machine, counted, gpus);
  for (const auto& [id, direction] : traffic) {
    const LinkId first = id & ~1;
    const Node& from = topology.node(topology.link(first).from);
    const Node& to = topology.node(topology.link(first).to);
    const bool turned = from.kind != NodeKind::gpu && to.kind == NodeKind::gpu;
    LinkTraffic& link = by_link[first];
    link.near = turned ? to.name : from.name;
    link.far = turned ? from.name : to.name;
    link.of_gpu = from.kind == NodeKind::gpu || to.kind == NodeKind::gpu;
    link.shared = !link.of_gpu && from.kind != NodeKind::nic && to.kind != NodeKind::nic;
    ((id == first) != turned ? link.out : link.in) = direction;
  }
  std::vector<LinkTraffic> links;
  for (auto& [id, link] : by_link) links.push_back(std::move(link));
  std::stable_sort(links.begin(), links.end(), [](const LinkTraffic& a, const LinkTraffic& b) {
    return slower(a) > slower(b);
  });
  return links;
}

std::vector<TimePart> parts_of(const Simulation& simulation) {
  std::array<TimePart, 3> parts = {{{"moving data"}, {"issuing ops"}, {"latency"}}};
  for (const CriticalPiece& piece : simulation.critical_path) {
    const std::size_t part = piece.kind == CriticalPiece::Kind::transfer  ? 0
                             : piece.kind == CriticalPiece::Kind::latency ? 2
                                                                          : 1;
    parts[part].seconds += piece.end - piece.begin;
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const TimePart& a, const TimePart& b) { return a.seconds > b.seconds; });
  return {parts.begin(), parts.end()};
}

std::vector<FullResource> full_resources(const Machine& machine, const Simulation& simulation) {
  std::vector<FullResource> full;
  for (std::size_t i = 0; i < simulation.resources.size(); ++i)
    if (simulation.resources[i].saturated > 0)
      full.push_back({machine.resources()[i].name, simulation.resources[i].saturated});
  std::stable_sort(full.begin(), full.end(), [](const FullResource& a, const FullResource& b) {
    return a.seconds > b.seconds;
  });
  return full;
}

std::string nccl_pick(const Machine& machine, const ExplainedCall& call) {
  if (!nccl_chooses(call.request.collective)) return {};
  const std::vector<int> gpus = gpus_of(machine, call);
  if (std::set<int>(gpus.begin(), gpus.end()).size() != gpus.size() ||
      static_cast<int>(gpus.size()) != machine.gpus())
    return {};
  try {
    const NcclMachine seen = nccl_machine(machine);
    std::string text = describe(
        nccl_predictions(seen, call.request.collective, static_cast<double>(call.bytes)).front());
    for (const auto& assumption : seen.assumptions) text += "; " + assumption;
    return text;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return {};
  }
}

}  // namespace

Explanation explain_plan(const Machine& machine, const ExplainedCall& call,
                         const std::string& spec) {
  const std::vector<int> gpus = gpus_of(machine, call);
  const SimulatedCall simulated = simulated_call(call, gpus);
  const SimulationWanted wanted{
      .resources = true, .critical_path = true, .timeline = false, .give_up_after = {}};
  const Simulation simulation =
      simulate(machine, parse_spec(spec), call.request, simulated, wanted);
  const auto seconds_with = [&](double factor) {
    return simulate(with_times_scaled(machine, factor), parse_spec(spec), call.request, simulated)
        .seconds;
  };
  const Counted counted = count(machine, call, simulated, spec);
  Explanation result;
  result.spec = counted.spec;
  result.seconds = simulation.seconds;
  if (message_bytes(call.request, static_cast<double>(call.bytes)) < least_certain_bytes)
    result.range = {seconds_with(1 / uncertainty_of_times), seconds_with(uncertainty_of_times)};
  result.ops = simulation.ops;
  result.slices = counted.shape.slices;
  result.steps = counted.steps;
  result.lowered = counted.lowered;
  result.remark = off_fabric_remark(machine, gpus, parse_spec(counted.spec));
  result.links = links_with_traffic(machine, counted, gpus);
  result.parts = parts_of(simulation);
  result.full = full_resources(machine, simulation);
  return result;
}

CallExplanation explain_call(const Machine& machine, std::string machine_name,
                             const ExplainedCall& call, std::span<const std::string> specs) {
  CallExplanation result;
  result.machine = std::move(machine_name);
  for (auto& each : assumptions_of(machine.topology(), machine.model()))
    result.assumed.push_back(std::move(each.what));
  result.call = call;
  const std::vector<int> gpus = gpus_of(machine, call);
  const auto nodes = machine.topology().gpus();
  for (const int gpu : gpus)
    result.gpu_names.push_back(machine.topology().node(nodes.at(at(gpu))).name);
  for (const auto& spec : specs) result.plans.push_back(explain_plan(machine, call, spec));
  result.bounds = bounds_for(machine, gpus, call.request, static_cast<double>(call.bytes));
  result.bound_caveat = bound_caveat(machine, gpus, result.bounds.bounds.front());
  result.nccl = nccl_pick(machine, call);
  return result;
}

}  // namespace ringside
