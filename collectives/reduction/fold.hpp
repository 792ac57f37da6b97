// SPDX-License-Identifier: MIT
/// The one arithmetic kernel of every executor on the host: fold k sources left to right, store the
/// value to m destinations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "ringside/collectives/reduction/kernels.hpp"
#include "ringside/collectives/reduction/types.hpp"

namespace ringside {

/// One fold over a run of elements. Sources and destinations are addresses of the first element;
/// any alignment; every two runs are either the same or disjoint (so a destination may be any of
/// the sources). With k = 1 this is a copy (m > 1: a multicast), bit for bit: NaN payloads survive;
/// unless the one source is to be scaled (premul_sum and raw) or divided (avg, completes, ranks >
/// 1).
struct Fold {
  std::span<const std::byte* const> sources;  ///< k >= 1
  std::span<std::byte* const> destinations;   ///< m >= 1
  std::size_t elements = 0;
  ElementType type = ElementType::float32;
  ReduceOp op = ReduceOp::sum;
  /// premul_sum: bit i says that source i is a raw contribution and is multiplied by `scalar`
  /// first (sources beyond the 64th: see `all_raw`). Other operators ignore it.
  std::uint64_t raw_mask = 0;
  /// premul_sum: every source is raw (any k).
  bool all_raw = false;
  double scalar = 1.0;
  /// avg: this fold's value holds all contributions, so divide it by `ranks` before storing.
  bool completes = false;
  int ranks = 1;
  /// The destinations are not read again soon: long runs may be stored past the caches, where the
  /// destination is no source (and are fenced before the fold returns, so that a flag set later is
  /// seen later). Never changes a bit.
  bool streaming = false;
};

/// The definition, element by element in plain scalar code; what `fold` must equal bit for bit
/// (NaNs as a class). Used by the reference interpreter and by tests.
///
/// Narrow floats (16 and 8 bits) are converted to float32, folded there and rounded once, to
/// nearest even, when stored. What is too large for a 16-bit float becomes infinity; the 8-bit
/// floats saturate: too large and infinity become the largest finite value of that sign, NaN stays
/// NaN. (An infinity among float8_e5m2 sources counts as infinity, also for min and max, until the
/// store saturates it; a copy keeps it.) Integers wrap. min/max: NaN wins, -0 < +0. avg divides the
/// folded value once (in float32 for narrow floats, before the only rounding; integers: the wrapped
/// sum, truncated towards zero). premul_sum multiplies a raw source by the scalar converted to the
/// type (narrow floats: to float32); integers: truncated towards zero, kept within [-2^63, 2^64)
/// (NaN: 0), wrapped to the type; wrapping multiplication.
void reference_fold(const Fold& fold);

/// The same, fast: vectorised, for the instruction set that the option `isa` names (by default the
/// best at hand), settled at the first call. Throws Error(unsupported) if the machine has not got
/// it. Throws Error(invalid_argument) without a source, without a destination, or for an average
/// over no ranks.
void fold(const Fold& fold);

/// Everything about a fold but where its runs are and how long: k sources, m destinations, and the
/// members of `Fold` with the same names.
struct FoldShape {
  std::size_t k = 1;
  std::size_t m = 1;
  ElementType type = ElementType::float32;
  ReduceOp op = ReduceOp::sum;
  std::uint64_t raw_mask = 0;
  bool all_raw = false;
  double scalar = 1.0;
  bool completes = false;
  int ranks = 1;
  bool streaming = false;

  bool operator==(const FoldShape&) const = default;
};

/// Whether it is a copy from one place to another, bit for bit.
[[nodiscard]] inline bool is_plain_copy(const FoldShape& shape) {
  const bool scales = shape.op == ReduceOp::premul_sum && (shape.all_raw || shape.raw_mask != 0);
  const bool divides = shape.op == ReduceOp::avg && shape.completes && shape.ranks > 1;
  return shape.k == 1 && shape.m == 1 && !scales && !divides;
}

/// A fold resolved to the function that does it: a value of about two cache lines, to be kept by
/// whoever does the same fold again. A call of it costs a call through a pointer, without any
/// check.
class FoldKernel {
 public:
  /// Nothing may be called before a resolved one has been assigned.
  FoldKernel() = default;
  explicit FoldKernel(const ResolvedFold& resolved) : resolved_(resolved) {}

  /// `sources` are shape.k addresses and `destinations` shape.m; what `fold` asks of them holds.
  void operator()(const std::byte* const* sources, std::byte* const* destinations,
                  std::size_t elements) const {
    if (elements != 0) resolved_.run(resolved_, sources, destinations, elements, 0);
  }

  /// The shape, checked and brought to one form (for kernels elsewhere than on the host).
  [[nodiscard]] const ResolvedFold& resolved() const { return resolved_; }

 private:
  ResolvedFold resolved_;
};

/// `fold(f)` is `resolve_fold(shape of f)(f.sources, f.destinations, f.elements)`, and throws what
/// this throws: see `fold`.
[[nodiscard]] FoldKernel resolve_fold(const FoldShape& shape);

/// Which build of the kernels `fold` uses: "baseline", "avx2" or "avx512".
[[nodiscard]] std::string_view fold_isa();

/// The builds this machine can run, best first, and one of them by name (tests compare them).
/// Throws Error(unsupported) for a name that is not among them.
[[nodiscard]] std::span<const std::string_view> available_fold_isas();
void fold_with(std::string_view isa, const Fold& fold);
[[nodiscard]] FoldKernel resolve_fold_with(std::string_view isa, const FoldShape& shape);

}  // namespace ringside
