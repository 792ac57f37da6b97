// SPDX-License-Identifier: MIT
/// What choosing an algorithm costs: a look-up in a tuning table (once per new kind of call), and
/// what is left of it when the call was prepared before (every repetition).
#include <benchmark/benchmark.h>

#include <vector>

#include "ringside/collectives/call.hpp"
#include "ringside/collectives/executors/call_cache.hpp"
#include "ringside/collectives/executors/host/prepared.hpp"
#include "ringside/collectives/selector/choice.hpp"

namespace {

using namespace ringside;

/// A call that was never made before asks the table.
void cold(benchmark::State& state) {
  const Request request{Collective::all_reduce, static_cast<int>(state.range(0)), 0, true};
  std::uint64_t bytes = 8;
  for (auto _ : state) {
    benchmark::DoNotOptimize(choose(default_tuning(), {"host", 2}, request, bytes));
    bytes = bytes * 5 % 100'000'007;
  }
}
BENCHMARK(cold)->Arg(2)->Arg(8);

/// A call that was made before is found by its arguments, and with it what was chosen: `sizes`
/// different ones in turn.
void cached(benchmark::State& state) {
  const auto sizes = static_cast<std::size_t>(state.range(0));
  PlanCache plans;
  CallCache<host::Prepared> calls(2);
  const host::Preparation how{0, 2, 0, [](const Request& request, std::size_t bytes) {
                                return choose(default_tuning(), {"host", 2}, request, bytes).spec;
                              }};
  const CallOptions options;
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < sizes; ++i) lengths.push_back(100 + 1000 * i);
  std::size_t next = 0;
  for (auto _ : state) {
    const Call call{.collective = Collective::all_reduce,
                    .placement = Placement::in_place,
                    .blocks = {&lengths[next], 1},
                    .type = ElementType::float32,
                    .op = ReduceOp::sum,
                    .root = 0,
                    .options = &options};
    benchmark::DoNotOptimize(
        &calls.get(call, "auto", [&] { return host::prepare(call, how, plans); }));
    next = next + 1 == sizes ? 0 : next + 1;
  }
}
BENCHMARK(cached)->Arg(1)->Arg(16)->Arg(64)->Arg(1000);

}  // namespace

BENCHMARK_MAIN();
