// SPDX-License-Identifier: MIT
/// The passes of the fold kernels: all sources folded into all destinations, vector by vector. Part
/// of kernels.inl, under its rules.
///
/// Destinations may be sources. That is safe because runs are either the same or disjoint and a
/// vector's elements are loaded from all sources before they are stored. What is left when the run
/// is no whole number of vectors is covered by a last vector that overlaps the one before: it is
/// loaded and folded before anything is stored, and stores the same values once more.
#pragma once

#include "ringside/collectives/reduction/kernels.hpp"
#include "ringside/collectives/reduction/stores.inl"
#include "ringside/collectives/reduction/vectors.inl"

namespace ringside::RINGSIDE_ISA_NAMESPACE {
namespace {

/// Calls `fold(offset in elements)` and `store(offset, value)` for vectors that cover n elements.
/// `Steps::fold<lanes>` gives the folded value of `lanes` elements from an index on, and
/// `Steps::store<lanes>` stores it.
template <class T, std::size_t lanes, class Steps>
[[gnu::always_inline]] inline void cover_few(const Steps& steps, std::size_t n) {
  if constexpr (lanes < fewest_lanes<T> || lanes < 2) {
    for (std::size_t i = 0; i < n; ++i) steps.template store<1>(i, steps.template fold<1>(i));
  } else {
    if (n < lanes) return cover_few<T, lanes / 2>(steps, n);
    const auto first = steps.template fold<lanes>(0);
    const auto last = steps.template fold<lanes>(n - lanes);
    steps.template store<lanes>(0, first);
    steps.template store<lanes>(n - lanes, last);
  }
}

template <class T, class Steps>
[[gnu::always_inline]] inline void cover(const Steps& steps, std::size_t n) {
  constexpr std::size_t lanes = most_lanes<T>;
  if (n < lanes) return cover_few<T, lanes / 2>(steps, n);
  const std::size_t last = n - lanes;
  const auto at_last = steps.template fold<lanes>(last);
  for (std::size_t i = 0; i < last; i += lanes)
    steps.template store<lanes>(i, steps.template fold<lanes>(i));
  steps.template store<lanes>(last, at_last);
}

template <class A, class Value>
inline Value divided(Value value, int divisor) {
  return value / static_cast<A>(divisor);
}

// ---- A fixed number of sources and destinations -------------------------------------------------

template <class T, class Op, bool divides, std::size_t K, std::size_t M>
struct FixedSteps {
  const std::byte* sources[K];
  std::byte* destinations[M];
  int divisor;

  template <std::size_t lanes>
  [[gnu::always_inline]] auto fold(std::size_t i) const {
    const std::size_t offset = i * sizeof(T);
    auto value = Access<T, lanes>::load(sources[0] + offset);
    for (std::size_t j = 1; j < K; ++j)
      value = Op::combine(value, Access<T, lanes>::load(sources[j] + offset));
    if constexpr (divides) value = divided<Accumulator<T>>(value, divisor);
    return value;
  }

  template <std::size_t lanes, class Value>
  [[gnu::always_inline]] void store(std::size_t i, Value value) const {
    for (std::size_t j = 0; j < M; ++j)
      Access<T, lanes>::store(destinations[j] + i * sizeof(T), value);
  }
};

template <class T, class Op, bool divides, std::size_t K, std::size_t M>
void fold_fixed(const ResolvedFold& resolved, const std::byte* const* sources,
                std::byte* const* destinations, std::size_t n, std::size_t skip) {
  FixedSteps<T, Op, divides, K, M> steps;
  for (std::size_t j = 0; j < K; ++j) steps.sources[j] = sources[j] + skip;
  for (std::size_t j = 0; j < M; ++j) steps.destinations[j] = destinations[j];
  steps.divisor = resolved.divisor;
  cover<T>(steps, n);
}

// ---- Any number ---------------------------------------------------------------------------------

template <class T, class Op, bool scaled>
struct AnySteps {
  using A = Accumulator<T>;
  const ResolvedFold& resolved;
  const std::byte* const* sources;
  std::byte* const* destinations;
  std::size_t m;
  std::size_t skip;
  A scalar;

  /// What source j is multiplied by; times 1 is exact.
  [[nodiscard]] A scale(std::size_t j) const {
    const bool raw = resolved.all_raw || (j < 64 && ((resolved.raw_mask >> j) & 1U) != 0);
    return raw ? scalar : A{1};
  }

  template <std::size_t lanes>
  [[gnu::always_inline]] auto term(std::size_t j, std::size_t offset) const {
    using Value = typename Access<T, lanes>::Value;
    const Value value = Access<T, lanes>::load(sources[j] + offset);
    if constexpr (!scaled) {
      return value;
    } else if constexpr (lanes == 1) {
      return Prod::combine<A>(value, scale(j));
    } else {
      return static_cast<Value>(value * scale(j));
    }
  }

  template <std::size_t lanes>
  [[gnu::always_inline]] auto fold(std::size_t i) const {
    const std::size_t offset = skip + i * sizeof(T);
    auto value = term<lanes>(0, offset);
    for (std::size_t j = 1; j < resolved.k; ++j) value = Op::combine(value, term<lanes>(j, offset));
    if constexpr (!std::is_integral_v<A>) {
      if (resolved.divisor != 1) value = divided<A>(value, resolved.divisor);
    }
    return value;
  }

  template <std::size_t lanes, class Value>
  [[gnu::always_inline]] void store(std::size_t i, Value value) const {
    for (std::size_t j = 0; j < m; ++j)
      Access<T, lanes>::store(destinations[j] + i * sizeof(T), value);
  }
};

template <class T, class Op, bool scaled>
void fold_any_to(const ResolvedFold& resolved, const std::byte* const* sources,
                 std::byte* const* destinations, std::size_t n, std::size_t skip, std::size_t m) {
  using A = Accumulator<T>;
  const AnySteps<T, Op, scaled> steps{
      resolved, sources, destinations, m, skip, scaled ? scalar_as<A>(resolved.scalar) : A{1}};
  cover<T>(steps, n);
}

template <class T, class Op, bool scaled>
void fold_any(const ResolvedFold& resolved, const std::byte* const* sources,
              std::byte* const* destinations, std::size_t n, std::size_t skip) {
  fold_any_to<T, Op, scaled>(resolved, sources, destinations, n, skip, resolved.m);
}

template <class T, class Op, bool scaled>
void fold_any_to_one(const ResolvedFold& resolved, const std::byte* const* sources,
                     std::byte* const* destinations, std::size_t n, std::size_t skip) {
  fold_any_to<T, Op, scaled>(resolved, sources, destinations, n, skip, 1);
}

/// `skip` bytes behind the destinations' addresses too.
template <class T, class Op, bool scaled>
void fold_any_skipping(const ResolvedFold& resolved, const std::byte* const* sources,
                       std::byte* const* destinations, std::size_t n, std::size_t skip) {
  using A = Accumulator<T>;
  const AnySteps<T, Op, scaled> steps{
      resolved,   sources, destinations,
      resolved.m, 0,       scaled ? scalar_as<A>(resolved.scalar) : A{1}};
  const std::size_t first = skip / sizeof(T);
  for (std::size_t i = first; i < first + n; ++i)
    steps.template store<1>(i, steps.template fold<1>(i));
}

/// Whole lines with non-temporal stores, `skip` bytes behind the addresses of the destinations,
/// where lines begin (the steps know about the sources). A line is stored at once, as the buffers
/// that combine such stores are few.
template <class T, class Steps>
[[gnu::always_inline]] inline void stream_lines(const Steps& steps, std::byte* const* destinations,
                                                std::size_t m, std::size_t n, std::size_t skip) {
  constexpr std::size_t lanes = most_lanes<T>;
  constexpr std::size_t vectors = cache_line / vector_bytes;
  for (std::size_t i = 0; i < n; i += vectors * lanes) {
    Line line[vectors];
    for (std::size_t v = 0; v < vectors; ++v)
      line[v] = (Line)steps.template fold<lanes>(i + v * lanes);
    for (std::size_t j = 0; j < m; ++j) {
      std::byte* const to = destinations[j] + skip + i * sizeof(T);
      for (std::size_t v = 0; v < vectors; ++v) stream_vector(to + v * vector_bytes, line[v]);
    }
  }
}

template <class T, class Op, bool divides, std::size_t K, std::size_t M>
void stream_fixed(const ResolvedFold& resolved, const std::byte* const* sources,
                  std::byte* const* destinations, std::size_t n, std::size_t skip) {
  FixedSteps<T, Op, divides, K, M> steps;
  for (std::size_t j = 0; j < K; ++j) steps.sources[j] = sources[j] + skip;
  for (std::size_t j = 0; j < M; ++j) steps.destinations[j] = destinations[j] + skip;
  steps.divisor = resolved.divisor;
  stream_lines<T>(steps, steps.destinations, M, n, 0);
}

template <class T, class Op, bool scaled>
void stream_any(const ResolvedFold& resolved, const std::byte* const* sources,
                std::byte* const* destinations, std::size_t n, std::size_t skip) {
  using A = Accumulator<T>;
  const AnySteps<T, Op, scaled> steps{resolved,     sources,
                                      destinations, resolved.m,
                                      skip,         scaled ? scalar_as<A>(resolved.scalar) : A{1}};
  stream_lines<T>(steps, destinations, resolved.m, n, skip);
}

/// Integers only, in place; for them there is `divide` of single elements, which the compiler
/// vectorises where the machine can.
template <class T>
void divide_elements(std::byte* elements, std::size_t n, int divisor) {
  for (std::size_t i = 0; i < n; ++i) {
    std::byte* const at = elements + i * sizeof(T);
    store_as<T>(at, divide<T>(load_as<T>(at), divisor));
  }
}

}  // namespace
}  // namespace ringside::RINGSIDE_ISA_NAMESPACE
