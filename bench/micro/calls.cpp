// SPDX-License-Identifier: MIT
/// What a call costs with two ranks: a barrier (enter and leave and nothing else), small
/// all-reduces, and an op of a plan. Each rank on a core of its own where there are two.
///
/// `op` counts seconds per op and rank: the ring runs its plan, cut in many slices of 8 bytes, so
/// that ops are nearly all there is.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "ringside/base/options.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/collectives/communicator.hpp"
#include "ringside/collectives/world.hpp"

namespace {

using ringside::Communicator;

constexpr int ranks = 2;

/// Rank 0 is timed; the other makes as many calls. `call(communicator)` makes one.
template <class MakeCall>
void on_two_ranks(benchmark::State& state, const MakeCall& make_call) {
  const auto cores = ringside::allowed_cpus();
  auto world = ringside::World::threads(ranks);
  world.run([&](Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    ringside::pin_current_thread(cores[rank % cores.size()]);
    auto call = make_call();
    call(communicator);  // makes the plan
    if (rank == 0) {
      for (auto _ : state) call(communicator);
    } else {
      for (benchmark::IterationCount i = 0; i < state.max_iterations; ++i) call(communicator);
    }
  });
}

void barrier(benchmark::State& state) {
  on_two_ranks(state, [] { return [](Communicator& communicator) { communicator.barrier(); }; });
}

void all_reduce(benchmark::State& state, const std::string& algorithm) {
  const auto elements = static_cast<std::size_t>(state.range(0)) / sizeof(float);
  on_two_ranks(state, [&] {
    return [data = std::vector<float>(elements, 1.0F),
            &algorithm](Communicator& communicator) mutable {
      communicator.all_reduce(data, ringside::ReduceOp::max, {.algorithm = algorithm});
    };
  });
}

/// A ring of 2 (n - 1) ops a rank and slice, on chunks of 8 bytes.
void op(benchmark::State& state) {
  const auto slices = static_cast<std::size_t>(state.range(0));
  const std::string algorithm = "ring:slices=" + std::to_string(slices);
  on_two_ranks(state, [&] {
    return [data = std::vector<double>(slices * ranks, 1.0),
            &algorithm](Communicator& communicator) mutable {
      communicator.all_reduce(data, ringside::ReduceOp::max, {.algorithm = algorithm});
    };
  });
  const auto ops = static_cast<double>(slices * 2 * (ranks - 1));
  state.counters["op"] = benchmark::Counter(
      ops, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

}  // namespace

BENCHMARK(barrier)->UseRealTime();
BENCHMARK_CAPTURE(all_reduce, auto, "auto") -> RangeMultiplier(4) -> Range(8, 2048)
    -> UseRealTime();
BENCHMARK_CAPTURE(all_reduce, two_shot, "two_shot")
    ->RangeMultiplier(4)
    ->Range(8, 2048)
    ->UseRealTime();
BENCHMARK(op)->Arg(16)->Arg(64)->Arg(256)->UseRealTime();

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  ringside::set_option("inline=0");  // the plans, not their shortcut
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
