// SPDX-License-Identifier: MIT
/// What bounds cost: the optimum of reduce-scatter and all-gather, what no all-reduce can beat,
/// each with its cut. Machines as the presets have them (boxes of 8 GPUs with all their switches
/// and NICs); capacities by kind of link, for only their number matters here.
#include <benchmark/benchmark.h>

#include <string>

#include "ringside/topology/bounds/bounds.hpp"
#include "ringside/topology/presets/presets.hpp"

namespace {

using namespace ringside;

double gigabytes(const Link& link) {
  if (link.bandwidth) return *link.bandwidth;
  switch (link.kind) {
    case LinkKind::nvlink:
      return 20.0 * link.count.value_or(1);
    case LinkKind::socket:
      return 10;
    case LinkKind::internal:
      return 5000;
    default:
      return 24;
  }
}

CapacityGraph fat_tree(std::int64_t gpus) {
  const Topology topology =
      make_preset("fat-tree:boxes=" + std::to_string(gpus / 8)).value_or(Topology{});
  CapacityGraph graph;
  for (const auto& node : topology.nodes()) graph.vertices.push_back(node.name);
  for (const NodeId gpu : topology.gpus()) graph.compute.push_back(gpu);
  for (const auto& link : topology.links())
    graph.arcs.push_back({link.from, link.to, gigabytes(link) * 1e9, ""});
  return graph;
}

void optimum(benchmark::State& state) {
  const CapacityGraph graph = fat_tree(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(tree_optimum(graph));
}
BENCHMARK(optimum)->Arg(8)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);

void any_all_reduce(benchmark::State& state) {
  const CapacityGraph graph = fat_tree(state.range(0));
  for (auto _ : state)
    benchmark::DoNotOptimize(bounds_of_any_plan(graph, Demand::all_to_everyone_reduced));
}
BENCHMARK(any_all_reduce)->Arg(8)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);

void any_all_to_all(benchmark::State& state) {
  const CapacityGraph graph = fat_tree(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(bounds_of_any_plan(graph, Demand::all_to_all));
}
BENCHMARK(any_all_to_all)->Arg(8)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
