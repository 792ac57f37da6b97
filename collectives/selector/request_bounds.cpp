// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/request_bounds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/topology/model/assumptions.hpp"

namespace ringside {

Demand demand_of(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
      return Demand::all_to_everyone_reduced;
    case Collective::reduce_scatter:
      return Demand::reduce_to_shards;
    case Collective::all_gather:
      return Demand::gather_to_everyone;
    case Collective::broadcast:
      return Demand::one_to_everyone;
    case Collective::reduce:
      return Demand::everyone_to_one;
    case Collective::gather:
      return Demand::shards_to_one;
    case Collective::scatter:
      return Demand::one_to_shards;
    case Collective::all_to_all:
      return Demand::all_to_all;
    case Collective::barrier:
      break;
  }
  throw Error(ErrorCode::unsupported, "barrier moves no data");
}

double message_bytes(const Request& request, double bytes_of_all_blocks) {
  const bool per_rank = request.collective == Collective::all_to_all;
  return per_rank ? bytes_of_all_blocks / request.ranks : bytes_of_all_blocks;
}

CapacityGraph capacities_for(const Machine& machine, std::span<const int> gpus) {
  CapacityGraph graph = machine.capacities();
  std::vector<int> compute;
  for (const int gpu : gpus) compute.push_back(graph.compute.at(static_cast<std::size_t>(gpu)));
  graph.compute = std::move(compute);
  return graph;
}

namespace {

/// Those whose capacities a bound adds up: the arcs of a machine's capacities are its links.
std::vector<LinkId> links_of(const Bound& bound, const Topology& topology) {
  std::vector<LinkId> links(bound.cut.arcs.begin(), bound.cut.arcs.end());
  for (const auto& domain : bound.domains)
    for (LinkId id = 0; id < static_cast<LinkId>(topology.links().size()); ++id) {
      const auto is_inside = [&](NodeId node) { return std::ranges::binary_search(domain, node); };
      if (is_inside(topology.link(id).to) && !is_inside(topology.link(id).from))
        links.push_back(id);
    }
  return links;
}

}  // namespace

RequestBounds bounds_for(const Machine& machine, std::span<const int> gpus, const Request& request,
                         double bytes) {
  const CapacityGraph graph = capacities_for(machine, gpus);
  const double message = message_bytes(request, bytes);
  RequestBounds result;
  result.bounds = bounds_of_any_plan(graph, demand_of(request.collective), request.root);
  result.seconds = message * result.bounds.front().seconds_per_byte;
  const bool in_trees = request.collective == Collective::all_reduce ||
                        request.collective == Collective::reduce_scatter ||
                        request.collective == Collective::all_gather;
  const bool several =
      std::any_of(gpus.begin(), gpus.end(), [&](int gpu) { return gpu != gpus.front(); });
  if (in_trees && several) {
    result.optimum = tree_optimum(graph);
    const int passes = request.collective == Collective::all_reduce ? 2 : 1;
    result.optimum_seconds = passes * message / (result.optimum->all_gather * result.optimum->unit);
  }
  return result;
}

bool any_through_host(const Machine& machine, std::span<const int> gpus) {
  return std::ranges::any_of(gpus, [&](int gpu) {
    return std::ranges::any_of(gpus, [&](int peer) { return machine.through_host(gpu, peer); });
  });
}

std::string bound_caveat(const Machine& machine, std::span<const int> gpus, const Bound& bound) {
  std::vector<std::string_view> caveats;
  if (any_is_assumed(assumptions_of(machine.topology(), machine.model()),
                     links_of(bound, machine.topology())))
    caveats.emplace_back("if what is assumed is so");
  if (any_through_host(machine, gpus))
    caveats.emplace_back("without what going through the host's memory costs");
  return caveats.empty() ? "" : fmt::format(" ({})", fmt::join(caveats, "; "));
}

}  // namespace ringside
