// SPDX-License-Identifier: MIT
/// How fast the fold kernels are: types x (k sources, m destinations) x where the data lies, with
/// memcpy and a bare loop of the compiler's beside them. Bytes are counted as moved by the program:
/// (k + m) x the run, without the lines that plain stores read first.
///
/// The kernels are asked for by name (`--benchmark_filter=float32/.*/avx512`); the last part of a
/// name is the run in bytes. Runs of 4 KiB lie in the first-level cache for k = m = 2.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ringside/collectives/reduction/fold.hpp"

namespace {

using ringside::ElementType;
using ringside::Fold;
using ringside::ReduceOp;

enum class Place { apart, in_place };

/// Zeroed runs, each from a page boundary plus a few lines, so that they do not all fall into the
/// same sets of the caches.
class Runs {
 public:
  Runs(std::size_t count, std::size_t bytes)
      : stride_((bytes + 4095) / 4096 * 4096 + 4096 + 192),
        memory_(static_cast<std::byte*>(
                    std::aligned_alloc(4096, (count * stride_ + 4095) / 4096 * 4096)),
                &std::free) {
    std::memset(memory_.get(), 0, count * stride_);
  }
  [[nodiscard]] std::byte* operator[](std::size_t i) const { return memory_.get() + i * stride_; }

 private:
  std::size_t stride_;
  std::unique_ptr<std::byte, void (*)(void*)> memory_;
};

void count_bytes(benchmark::State& state, std::size_t moved) {
  state.SetBytesProcessed(static_cast<std::int64_t>(moved) *
                          static_cast<std::int64_t>(state.iterations()));
}

struct Case {
  ElementType type;
  ReduceOp op;
  std::size_t k;
  std::size_t m;
  Place place;
  bool streaming;
};

void fold_case(benchmark::State& state, std::string_view isa, Case what) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const Runs runs(what.k + what.m, bytes);
  std::vector<const std::byte*> sources;
  std::vector<std::byte*> destinations;
  for (std::size_t j = 0; j < what.k; ++j) sources.push_back(runs[j]);
  for (std::size_t i = 0; i < what.m; ++i)
    destinations.push_back(runs[what.place == Place::in_place ? i : what.k + i]);
  const Fold fold{.sources = sources,
                  .destinations = destinations,
                  .elements = bytes / size_of(what.type),
                  .type = what.type,
                  .op = what.op,
                  .completes = true,
                  .ranks = static_cast<int>(what.k),
                  .streaming = what.streaming};
  for (auto _ : state) {
    ringside::fold_with(isa, fold);
    benchmark::ClobberMemory();
  }
  count_bytes(state, (what.k + what.m) * bytes);
}

void memcpy_case(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const Runs runs(2, bytes);
  for (auto _ : state) {
    std::memcpy(runs[0], runs[1], bytes);
    benchmark::ClobberMemory();
  }
  count_bytes(state, 2 * bytes);
}

/// What one would write by hand for k = m = 2, in place.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
[[gnu::target_clones("avx512f", "avx2", "default"), gnu::optimize("O3")]]
#endif
void bare_loop(float* a, float* b, std::size_t n) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    const float sum = a[i] + b[i];
    a[i] = sum;
    b[i] = sum;
  }
}

void bare_loop_case(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const Runs runs(2, bytes);
  for (auto _ : state) {
    bare_loop(reinterpret_cast<float*>(runs[0]), reinterpret_cast<float*>(runs[1]),
              bytes / sizeof(float));
    benchmark::ClobberMemory();
  }
  count_bytes(state, 4 * bytes);
}

void add_fold(std::string_view isa, Case what) {
  const std::string name = std::string(to_string(what.type)) + "/" +
                           std::string(to_string(what.op)) + "/k" + std::to_string(what.k) + "m" +
                           std::to_string(what.m) +
                           (what.place == Place::in_place ? "/in_place" : "/apart") +
                           (what.streaming ? "/streaming/" : "/") + std::string(isa);
  auto* entry = benchmark::RegisterBenchmark(
      name.c_str(), [isa, what](benchmark::State& state) { fold_case(state, isa, what); });
  if (what.streaming) {
    entry->Arg(1 << 14)->Arg(1 << 25);
  } else {
    entry->Arg(1 << 6)->Arg(1 << 12)->Arg(1 << 16)->Arg(1 << 25);
  }
}

void add_all() {
  benchmark::RegisterBenchmark("memcpy", memcpy_case)->Arg(1 << 12)->Arg(1 << 16)->Arg(1 << 25);
  benchmark::RegisterBenchmark("bare_loop/float32/sum/k2m2/in_place", bare_loop_case)
      ->Arg(1 << 6)
      ->Arg(1 << 12)
      ->Arg(1 << 16)
      ->Arg(1 << 25);
  struct Shape {
    std::size_t k, m;
  };
  for (std::string_view isa : ringside::available_fold_isas()) {
    for (ElementType type : ringside::all_element_types) {
      for (Shape shape : {Shape{2, 1}, Shape{2, 2}, Shape{4, 4}, Shape{8, 8}, Shape{5, 1}}) {
        for (Place place : {Place::in_place, Place::apart}) {
          add_fold(isa, {type, ReduceOp::sum, shape.k, shape.m, place, false});
          add_fold(isa, {type, ReduceOp::sum, shape.k, shape.m, place, true});
        }
      }
      for (ReduceOp op : {ReduceOp::max, ReduceOp::prod, ReduceOp::avg})
        add_fold(isa, {type, op, 2, 2, Place::in_place, false});
      add_fold(isa, {type, ReduceOp::sum, 1, 1, Place::apart, false});
      add_fold(isa, {type, ReduceOp::sum, 1, 1, Place::apart, true});
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  add_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("fold kernels", std::string(ringside::fold_isa()));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
