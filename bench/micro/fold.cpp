// SPDX-License-Identifier: MIT
/// How fast the fold kernels are, in three groups:
///  - `TYPE/OP/kKmM/PLACE/ISA/BYTES`: types x (k sources, m destinations) x where the data lies;
///  - `call/WAY/kKm1/BYTES`: what a call costs on short runs of float32, by `fold`, by a resolved
///    kernel, and as a loop by hand;
///  - `long/WAY/kKmM/PLACE/STORES/BYTES`: the same for longer runs, with both kinds of stores.
/// BYTES is the length of a run; throughput counts (k + m) runs, without the lines that plain
/// stores read first. Compare ways with
///   --benchmark_repetitions=5 --benchmark_enable_random_interleaving=true
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "ringside/collectives/reduction/fold.hpp"

namespace {

using ringside::ElementType;
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
  const auto kernel = ringside::resolve_fold_with(isa, {.k = what.k,
                                                        .m = what.m,
                                                        .type = what.type,
                                                        .op = what.op,
                                                        .completes = true,
                                                        .ranks = static_cast<int>(what.k),
                                                        .streaming = what.streaming});
  const std::size_t elements = bytes / size_of(what.type);
  for (auto _ : state) {
    kernel(sources.data(), destinations.data(), elements);
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

// ---- Ways to fold float32 -----------------------------------------------------------------------

using Sources = std::vector<const std::byte*>;
using Destinations = std::vector<std::byte*>;

/// A way is a function of (sources, destinations, elements, streaming).
struct ByFold {
  static constexpr const char* name = "fold";
  static auto prepared(std::size_t, std::size_t, bool streaming) {
    return [streaming](const Sources& sources, const Destinations& destinations,
                       std::size_t elements) {
      ringside::fold({.sources = sources,
                      .destinations = destinations,
                      .elements = elements,
                      .streaming = streaming});
    };
  }
};

struct ByKernel {
  static constexpr const char* name = "resolved";
  static auto prepared(std::size_t k, std::size_t m, bool streaming) {
    return [kernel = ringside::resolve_fold({.k = k, .m = m, .streaming = streaming})](
               const Sources& sources, const Destinations& destinations, std::size_t elements) {
      kernel(sources.data(), destinations.data(), elements);
    };
  }
};

#if defined(__x86_64__) && defined(__GNUC__)
#define RINGSIDE_BENCH_BY_HAND
/// What one would write for the case at hand: elements are whole vectors, destinations aligned.
template <std::size_t K, std::size_t M, bool streaming>
[[gnu::target("avx512f"), gnu::noinline]] void by_hand(const float* const* from, float* const* to,
                                                       std::size_t n) {
  const float* sources[K];
  float* destinations[M];
  for (std::size_t j = 0; j < K; ++j) sources[j] = from[j];
  for (std::size_t j = 0; j < M; ++j) destinations[j] = to[j];
  for (std::size_t i = 0; i < n; i += 16) {
    __m512 sum = _mm512_loadu_ps(sources[0] + i);
    for (std::size_t j = 1; j < K; ++j) sum = _mm512_add_ps(sum, _mm512_loadu_ps(sources[j] + i));
    for (std::size_t j = 0; j < M; ++j) {
      if constexpr (streaming) {
        _mm512_stream_ps(destinations[j] + i, sum);
      } else {
        _mm512_storeu_ps(destinations[j] + i, sum);
      }
    }
  }
  if constexpr (streaming) _mm_sfence();
}

template <std::size_t K, std::size_t M>
struct ByHand {
  static constexpr const char* name = "by_hand";
  static auto prepared(std::size_t, std::size_t, bool streaming) {
    return [streaming](const Sources& sources, const Destinations& destinations,
                       std::size_t elements) {
      (streaming ? &by_hand<K, M, true>
                 : &by_hand<K, M, false>)(reinterpret_cast<const float* const*>(sources.data()),
                                          reinterpret_cast<float* const*>(destinations.data()),
                                          elements);
    };
  }
};
#endif

struct Runs32 {
  Runs32(std::size_t k, std::size_t m, Place place, std::size_t bytes) : runs(k + m, bytes) {
    for (std::size_t j = 0; j < k; ++j) sources.push_back(runs[j]);
    for (std::size_t i = 0; i < m; ++i)
      destinations.push_back(runs[place == Place::in_place ? i : k + i]);
  }
  Runs runs;
  Sources sources;
  Destinations destinations;
};

template <class Way>
void add_way(const std::string& name, std::size_t k, std::size_t m, Place place, bool streaming,
             const std::vector<std::int64_t>& lengths) {
  auto* entry = benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    const auto bytes = static_cast<std::size_t>(state.range(0));
    const Runs32 data(k, m, place, bytes);
    const auto way = Way::prepared(k, m, streaming);
    for (auto _ : state) {
      way(data.sources, data.destinations, bytes / sizeof(float));
      benchmark::ClobberMemory();
    }
    count_bytes(state, (k + m) * bytes);
  });
  for (std::int64_t bytes : lengths) entry->Arg(bytes);
}

std::string shape_name(std::size_t k, std::size_t m) {
  return "k" + std::to_string(k) + "m" + std::to_string(m);
}

template <std::size_t K>
void add_calls() {
  const auto add = [&]<class Way>(Way, const std::vector<std::int64_t>& lengths) {
    add_way<Way>(std::string("call/") + Way::name + "/" + shape_name(K, 1), K, 1, Place::apart,
                 false, lengths);
  };
  add(ByFold{}, {8, 48, 128, 512, 2048});
  add(ByKernel{}, {8, 48, 128, 512, 2048});
#ifdef RINGSIDE_BENCH_BY_HAND
  if (__builtin_cpu_supports("avx512f")) add(ByHand<K, 1>{}, {64, 128, 512, 2048});
#endif
}

template <std::size_t K, std::size_t M>
void add_long() {
  for (Place place : {Place::in_place, Place::apart}) {
    for (bool streaming : {false, true}) {
      const auto add = [&]<class Way>(Way) {
        add_way<Way>(std::string("long/") + Way::name + "/" + shape_name(K, M) +
                         (place == Place::in_place ? "/in_place" : "/apart") +
                         (streaming ? "/streaming" : "/normal"),
                     K, M, place, streaming, {32 << 10, 256 << 10, 1 << 20, 8 << 20});
      };
      add(ByKernel{});
#ifdef RINGSIDE_BENCH_BY_HAND
      if (__builtin_cpu_supports("avx512f")) add(ByHand<K, M>{});
#endif
    }
  }
}

// ---- All types ----------------------------------------------------------------------------------

void add_fold(std::string_view isa, Case what) {
  const std::string name = std::string(to_string(what.type)) + "/" +
                           std::string(to_string(what.op)) + "/" + shape_name(what.k, what.m) +
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
  add_calls<2>();
  add_calls<4>();
  add_calls<8>();
  add_long<2, 2>();
  add_long<4, 4>();
  add_long<8, 8>();
  add_long<2, 1>();
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
