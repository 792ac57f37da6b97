// SPDX-License-Identifier: MIT
/// Picks the build of the fold kernels for the machine at hand, once.
#include <array>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/collectives/reduction/fold.hpp"
#include "ringside/collectives/reduction/kernels.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ringside {
namespace {

struct Build {
  std::string_view name;
  Kernel kernel;
  bool runs_here;
};

#if defined(__x86_64__)
/// Not among the names that every compiler's __builtin_cpu_supports knows. That the operating
/// system keeps the registers follows from AVX2, which is asked for beside it.
bool cpu_has_f16c() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

/// Best first. The compiler flags of collectives/reduction/CMakeLists.txt say what each needs.
const auto& builds() {
#if defined(__x86_64__)
  static const bool avx2 = __builtin_cpu_supports("avx2") && cpu_has_f16c();
  static const std::array all = {
      Build{"avx512", &isa_avx512::run,
            avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")},
      Build{"avx2", &isa_avx2::run, avx2},
      Build{"baseline", &isa_baseline::run, true},
  };
#else
  static const std::array all = {Build{"baseline", &isa_baseline::run, true}};
#endif
  return all;
}

/// The build of this name, which must run here. Throws Error(unsupported).
const Build& build_named(std::string_view isa) {
  for (const Build& build : builds())
    if (build.runs_here && build.name == isa) return build;
  std::string names;
  for (std::string_view name : available_fold_isas())
    names += (names.empty() ? "" : ", ") + std::string(name);
  throw Error(ErrorCode::unsupported, "no fold kernels \"" + std::string(isa) +
                                          "\" on this machine (available: " + names + ")");
}

/// By the option `isa`; read once, as the machine is the same all the time.
const Build& chosen_build() {
  static const Build& chosen = [&]() -> const Build& {
    const auto isa = option<std::string>("isa");
    return build_named(isa == "auto" ? available_fold_isas().front() : isa);
  }();
  return chosen;
}

/// Of `raw_mask`, the bits that are about sources: others must not turn a copy into arithmetic.
std::uint64_t marks_of_sources(const Fold& fold) {
  const std::size_t k = fold.sources.size();
  return k < 64 ? fold.raw_mask & ((std::uint64_t{1} << k) - 1) : fold.raw_mask;
}

void run(Kernel kernel, const Fold& fold) {
  if (fold.sources.empty() || fold.destinations.empty())
    throw Error(ErrorCode::invalid_argument,
                "a fold needs at least one source and one destination");
  const bool divides = fold.op == ReduceOp::avg && fold.completes;
  if (divides && fold.ranks < 1)
    throw Error(ErrorCode::invalid_argument, "an average is over at least one rank");
  if (fold.elements == 0) return;
  const bool premultiplies = fold.op == ReduceOp::premul_sum;
  kernel({.sources = fold.sources.data(),
          .k = fold.sources.size(),
          .destinations = fold.destinations.data(),
          .m = fold.destinations.size(),
          .elements = fold.elements,
          .type = fold.type,
          .op = fold.op,
          .raw_mask = premultiplies ? marks_of_sources(fold) : 0,
          .all_raw = premultiplies && fold.all_raw,
          .scalar = fold.scalar,
          .divisor = divides ? fold.ranks : 1,
          .streaming = fold.streaming});
}

}  // namespace

void fold(const Fold& fold) {
  static const Kernel kernel = chosen_build().kernel;
  run(kernel, fold);
}

std::string_view fold_isa() { return chosen_build().name; }

std::span<const std::string_view> available_fold_isas() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> result;
    for (const Build& build : builds())
      if (build.runs_here) result.push_back(build.name);
    return result;
  }();
  return names;
}

void fold_with(std::string_view isa, const Fold& fold) { run(build_named(isa).kernel, fold); }

}  // namespace ringside
