// SPDX-License-Identifier: MIT
/// What it costs to make a plan ready: writing it, deriving its schedule, proving it. By algorithm
/// and number of ranks; a communicator does all three once per algorithm and request.
#include <benchmark/benchmark.h>

#include <string>

#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/dependencies.hpp"
#include "ringside/collectives/prover.hpp"

namespace {

using ringside::Plan;
using ringside::Request;

Request request_of(const benchmark::State& state) {
  return {.collective = ringside::Collective::all_reduce,
          .ranks = static_cast<int>(state.range(0)),
          .root = 0,
          .in_place = true};
}

/// Times `work(plan)`, and counts per op.
template <class Work>
void on_plan(benchmark::State& state, const std::string& spec, const Work& work) {
  const Plan plan = ringside::make_plan(spec, request_of(state));
  for (auto _ : state) benchmark::DoNotOptimize(work(plan));
  state.counters["ops"] = static_cast<double>(plan.size());
}

void build(benchmark::State& state, const std::string& spec) {
  on_plan(state, spec, [&](const Plan&) { return ringside::make_plan(spec, request_of(state)); });
}

void schedule(benchmark::State& state, const std::string& spec) {
  on_plan(state, spec, [](const Plan& plan) { return ringside::make_schedule(plan); });
}

void prove(benchmark::State& state, const std::string& spec) {
  on_plan(state, spec, [](const Plan& plan) { return ringside::prove(plan); });
}

void add(const char* name, void (*run)(benchmark::State&, const std::string&)) {
  for (const std::string spec : {"ring", "two_shot"})
    benchmark::RegisterBenchmark((std::string(name) + "/" + spec).c_str(),
                                 [run, spec](benchmark::State& state) { run(state, spec); })
        ->Arg(8)
        ->Arg(64)
        ->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char** argv) {
  add("build", build);
  add("schedule", schedule);
  add("prove", prove);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
