// SPDX-License-Identifier: MIT
/// Picks the build of the kernels for the machine at hand, once.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/collectives/reduction/checksum.hpp"
#include "ringside/collectives/reduction/fold.hpp"
#include "ringside/collectives/reduction/kernels.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ringside {
namespace {

struct Build {
  std::string_view name;
  Resolve resolve;
  ChecksumOfBlocks checksum_of_blocks;
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
      Build{"avx512", &isa_avx512::resolve, &isa_avx512::checksum_of_blocks,
            avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")},
      Build{"avx2", &isa_avx2::resolve, &isa_avx2::checksum_of_blocks, avx2},
      Build{"baseline", &isa_baseline::resolve, &isa_baseline::checksum_of_blocks, true},
  };
#else
  static const std::array all = {
      Build{"baseline", &isa_baseline::resolve, &isa_baseline::checksum_of_blocks, true}};
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

/// The bits of `raw_mask` that are about sources: others must not turn a copy into arithmetic.
std::uint64_t marks_of_sources(std::uint64_t raw_mask, std::size_t k) {
  return k < 64 ? raw_mask & ((std::uint64_t{1} << k) - 1) : raw_mask;
}

/// `marks` is a Fold or a FoldShape: read member by member, as copying one costs a short fold more
/// than its arithmetic.
template <class Marks>
void resolve_into(ResolvedFold& resolved, Resolve resolve, std::size_t k, std::size_t m,
                  const Marks& marks) {
  if (k == 0 || m == 0)
    throw Error(ErrorCode::invalid_argument,
                "a fold needs at least one source and one destination");
  resolved.k = k;
  resolved.m = m;
  resolved.type = marks.type;
  resolved.op = marks.op;
  resolved.streaming = marks.streaming;
  if (marks.op == ReduceOp::premul_sum) {
    resolved.raw_mask = marks_of_sources(marks.raw_mask, k);
    resolved.all_raw = marks.all_raw;
    resolved.scalar = marks.scalar;
  } else if (marks.op == ReduceOp::avg && marks.completes) {
    if (marks.ranks < 1)
      throw Error(ErrorCode::invalid_argument, "an average is over at least one rank");
    resolved.divisor = marks.ranks;
  }
  resolve(resolved);
}

FoldKernel resolved_by(Resolve resolve, const FoldShape& shape) {
  ResolvedFold resolved;
  resolve_into(resolved, resolve, shape.k, shape.m, shape);
  return FoldKernel(resolved);
}

void run(Resolve resolve, const Fold& fold) {
  ResolvedFold resolved;
  resolve_into(resolved, resolve, fold.sources.size(), fold.destinations.size(), fold);
  if (fold.elements != 0)
    resolved.run(resolved, fold.sources.data(), fold.destinations.data(), fold.elements, 0);
}

Resolve chosen_resolve() {
  static const Resolve resolve = chosen_build().resolve;
  return resolve;
}

std::uint64_t checksum_by(ChecksumOfBlocks of_blocks, const std::byte* data, std::size_t bytes) {
  const std::size_t blocks = bytes / checksum_block_bytes;
  std::uint64_t sum = of_blocks(data, blocks) * checksum_factor;
  for (std::size_t at = blocks * checksum_block_bytes; at < bytes; at += checksum_word_bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, std::min(bytes - at, checksum_word_bytes));
    sum += checksum_term(word, at / checksum_word_bytes);
  }
  return sum;
}

}  // namespace

void fold(const Fold& fold) { run(chosen_resolve(), fold); }

FoldKernel resolve_fold(const FoldShape& shape) { return resolved_by(chosen_resolve(), shape); }

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

std::uint64_t checksum_of(const std::byte* data, std::size_t bytes) {
  static const ChecksumOfBlocks of_blocks = chosen_build().checksum_of_blocks;
  return checksum_by(of_blocks, data, bytes);
}

std::uint64_t checksum_with(std::string_view isa, const std::byte* data, std::size_t bytes) {
  return checksum_by(build_named(isa).checksum_of_blocks, data, bytes);
}

void fold_with(std::string_view isa, const Fold& fold) { run(build_named(isa).resolve, fold); }

FoldKernel resolve_fold_with(std::string_view isa, const FoldShape& shape) {
  return resolved_by(build_named(isa).resolve, shape);
}

}  // namespace ringside
