// SPDX-License-Identifier: MIT
/// What simulating costs: rings of many ranks (writing the ops, deriving what waits for what,
/// sharing), on a star and on a fat tree; the many small plans of a choice on a box of 8; the facts
/// beside the time.
#include <benchmark/benchmark.h>

#include <string>
#include <utility>

#include "ringside/collectives/executors/simulated/op_source.hpp"
#include "ringside/collectives/executors/simulated/simulate.hpp"
#include "ringside/topology/presets/box.hpp"
#include "ringside/topology/presets/presets.hpp"

namespace {

using namespace ringside;

constexpr std::size_t elements = std::size_t{1} << 30;

Machine machine_of(Topology topology) {
  const LinkModel model = *link_model_for(topology).model;
  return {std::move(topology), model};
}

Machine preset(const std::string& name) { return machine_of(make_preset(name).value()); }

/// GPUs on one switch.
Machine star(int gpus) {
  Topology topology;
  Box box(topology);
  const NodeId bridge = box.bridge(box.numa(0));
  GpuModel model;
  model.name = "NVIDIA A100-SXM4-80GB";
  model.compute_capability = 80;
  model.nvlink_generation = 3;
  for (int i = 0; i < gpus; ++i) box.gpu(bridge, {}, model);
  box.nvlinks_to(box.nvswitch(), 12);
  return machine_of(std::move(topology));
}

SimulatedCall call_of(std::size_t length) {
  SimulatedCall call;
  call.block_elements = {length};
  return call;
}

void run(benchmark::State& state, const Machine& machine, const std::string& spec, int ranks,
         const SimulationWanted& wanted = {}) {
  const Request request{Collective::all_reduce, ranks, 0, false};
  std::uint64_t ops = 0;
  for (auto _ : state) {
    const auto result = simulate(machine, parse_spec(spec), request, call_of(elements), wanted);
    ops += result.ops;
    benchmark::DoNotOptimize(result.seconds);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(ops));
}

void ring_on_star(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  run(state, star(ranks), "ring", ranks);
}
BENCHMARK(ring_on_star)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);

void ring_on_fat_tree(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  run(state, preset("fat-tree:boxes=" + std::to_string(ranks / 8)), "ring", ranks);
}
BENCHMARK(ring_on_fat_tree)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);

void ops_of_ring(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  std::int64_t ops = 0;
  for (auto _ : state) {
    simulated::OpSource source(parse_spec("ring"), {Collective::all_reduce, ranks, 0, false});
    while (source.next() != nullptr) ++ops;
  }
  state.SetItemsProcessed(ops);
}
BENCHMARK(ops_of_ring)->Arg(1024)->Unit(benchmark::kMillisecond);

void small_box(benchmark::State& state, const std::string& spec) {
  run(state, preset("8gpu-two-sockets"), spec, 8);
}
BENCHMARK_CAPTURE(small_box, ring, std::string("ring"))->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(small_box, ring_sliced, std::string("ring:slices=16"))
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(
    small_box, hierarchical_sliced,
    std::string("hierarchical:groups=0-1-2-3/4-5-6-7,inner=ring,outer=ring,slices=16"))
    ->Unit(benchmark::kMicrosecond);

void critical_path(benchmark::State& state) {
  SimulationWanted wanted;
  wanted.critical_path = state.range(0) != 0;
  run(state, preset("8gpu-two-sockets"), "ring:slices=64", 8, wanted);
}
BENCHMARK(critical_path)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
