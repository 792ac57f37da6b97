// SPDX-License-Identifier: MIT
/// The loops of the fold kernels: how elements are read and written, one pass over a fixed number
/// of sources, and passes over blocks of accumulators. Part of kernels.inl, under its rules.
///
/// Destinations may be sources. That is safe because every loop loads element i of all sources
/// before it stores element i, and runs are either the same or disjoint; the compiler cannot know
/// the second half, hence RINGSIDE_INDEPENDENT_ITERATIONS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "ringside/collectives/reduction/element.hpp"
#include "ringside/collectives/reduction/kernels.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#ifdef __clang__
#define RINGSIDE_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define RINGSIDE_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif

namespace ringside::RINGSIDE_ISA_NAMESPACE {

/// Bytes of the widest vector of this build.
#if defined(__AVX512F__)
inline constexpr std::size_t vector_bytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t vector_bytes = 32;
#else
inline constexpr std::size_t vector_bytes = 16;
#endif

#ifdef __F16C__
typedef float FloatVector __attribute__((vector_size(vector_bytes)));
typedef std::uint32_t BitsVector __attribute__((vector_size(vector_bytes)));

template <>
struct BitsOf<FloatVector> {
  using type = BitsVector;
};
#endif

namespace {

// ---- Access: one element, or a few at once, at any address --------------------------------------

template <class V>
inline V load_as(const std::byte* address) {
  V value;
  __builtin_memcpy(&value, address, sizeof value);
  return value;
}

template <class V>
inline void store_as(std::byte* address, V value) {
  __builtin_memcpy(address, &value, sizeof value);
}

/// How a loop walks elements of T: `lanes` at a time, as a `Value` of accumulators.
template <class T>
struct Single {
  using Value = Accumulator<T>;
  static constexpr std::size_t lanes = 1;
  static Value load(const std::byte* address) { return Element<T>::load(load_as<T>(address)); }
  static void store(std::byte* address, Value value) {
    store_as(address, Element<T>::store(value));
  }
};

template <class T>
struct Wide : Single<T> {};

#ifdef __F16C__
// The compiler does not find the conversion instructions by itself.
template <>
struct Single<float16> {
  using Value = float;
  static constexpr std::size_t lanes = 1;
  static float load(const std::byte* address) {
    return _cvtsh_ss(load_as<unsigned short>(address));
  }
  static void store(std::byte* address, float value) {
    const __m128i narrowed = _mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT);
    store_as(address, static_cast<unsigned short>(_mm_cvtsi128_si32(narrowed)));
  }
};

template <>
struct Wide<float16> {
  using Value = FloatVector;
  static constexpr std::size_t lanes = vector_bytes / sizeof(float);
#ifdef __AVX512F__
  // Masked by all ones: in GCC 12 the unmasked forms warn of an uninitialised variable of theirs.
  static constexpr __mmask16 every_lane = 0xffff;
  static Value load(const std::byte* address) {
    return (Value)_mm512_maskz_cvtph_ps(every_lane, load_as<__m256i>(address));
  }
  static void store(std::byte* address, Value value) {
    store_as<__m256i>(address,
                      _mm512_maskz_cvtps_ph(every_lane, (__m512)value, _MM_FROUND_TO_NEAREST_INT));
  }
#else
  static Value load(const std::byte* address) {
    return (Value)_mm256_cvtph_ps(load_as<__m128i>(address));
  }
  static void store(std::byte* address, Value value) {
    store_as<__m128i>(address, _mm256_cvtps_ph((__m256)value, _MM_FROUND_TO_NEAREST_INT));
  }
#endif
};
#endif

// ---- One pass over k sources --------------------------------------------------------------------

/// Addresses as values, so that a loop keeps them in registers.
template <class Pointer, std::size_t N>
struct Addresses {
  Pointer at[N];
};

template <std::size_t N, class Pointer>
inline Addresses<Pointer, N> advanced(const Pointer* pointers, std::size_t offset) {
  Addresses<Pointer, N> result;
  for (std::size_t j = 0; j < N; ++j) result.at[j] = pointers[j] + offset;
  return result;
}

template <std::size_t K>
using Sources = Addresses<const std::byte*, K>;
template <std::size_t M>
using Destinations = Addresses<std::byte*, M>;

template <class T, class Access>
inline typename Access::Value divided(typename Access::Value value, int divisor) {
  using A = Accumulator<T>;
  if constexpr (Access::lanes > 1) {
    return value / static_cast<A>(divisor);
  } else {
    return divide<A>(value, divisor);
  }
}

template <class T, class Access, class Op, bool divides, std::size_t... J, std::size_t... I>
inline void fold_element(const std::byte* const* sources, std::byte* const* destinations,
                         std::size_t i, int divisor, std::index_sequence<J...>,
                         std::index_sequence<I...>) {
  const std::size_t offset = i * sizeof(T);
  auto value = Access::load(sources[0] + offset);
  ((value = Op::combine(value, Access::load(sources[J + 1] + offset))), ...);
  if constexpr (divides) value = divided<T, Access>(value, divisor);
  (Access::store(destinations[I] + offset, value), ...);
}

/// destinations[0..M) = sources[0] op ... op sources[K-1] (divided by `divisor`), over n elements.
template <class T, class Op, bool divides, std::size_t K, std::size_t M>
[[gnu::noinline]] void fold_pass(const Sources<K> sources, const Destinations<M> destinations,
                                 std::size_t n, int divisor) {
  constexpr auto rest = std::make_index_sequence<K - 1>();
  constexpr auto outs = std::make_index_sequence<M>();
  std::size_t i = 0;
  if constexpr (Wide<T>::lanes > 1) {
    for (; i + Wide<T>::lanes <= n; i += Wide<T>::lanes)
      fold_element<T, Wide<T>, Op, divides>(sources.at, destinations.at, i, divisor, rest, outs);
  }
  RINGSIDE_INDEPENDENT_ITERATIONS
  for (; i < n; ++i)
    fold_element<T, Single<T>, Op, divides>(sources.at, destinations.at, i, divisor, rest, outs);
}

/// K sources to K destinations or to one in one pass; false if m is neither.
template <class T, class Op, bool divides, std::size_t K>
inline bool fold_at_once_from(const KernelCall& call) {
  const Sources<K> sources = advanced<K>(call.sources, 0);
  if (call.m == K) {
    fold_pass<T, Op, divides, K, K>(sources, advanced<K>(call.destinations, 0), call.elements,
                                    call.divisor);
  } else if (call.m == 1) {
    fold_pass<T, Op, divides, K, 1>(sources, advanced<1>(call.destinations, 0), call.elements,
                                    call.divisor);
  }
  return call.m == K || call.m == 1;
}

/// One pass if there is one for this number of sources and destinations; else false.
template <class T, class Op, bool divides>
bool fold_at_once(const KernelCall& call) {
  switch (call.k) {
    case 2:
      return fold_at_once_from<T, Op, divides, 2>(call);
    case 3:
      return fold_at_once_from<T, Op, divides, 3>(call);
    case 4:
      return fold_at_once_from<T, Op, divides, 4>(call);
    case 8:
      return fold_at_once_from<T, Op, divides, 8>(call);
    default:
      return false;
  }
}

// ---- Any number of sources, through a block of accumulators in the first-level cache ------------

/// Bytes of a block of accumulators, and of the folded elements waiting to be delivered.
/// Measured (Zen 4, k = 5, m = 1, float16 and float32): in caches 1 KiB is 10 to 15 % slower and
/// more gains nothing; from memory 8 KiB is 10 to 20 % slower.
constexpr std::size_t block_bytes = 2048;

template <class T>
constexpr std::size_t block_elements = block_bytes / sizeof(Accumulator<T>);

/// Bytes of a multicast's source that are copied to one destination after the other: a fraction of
/// the smallest first-level cache in use (32 KiB).
constexpr std::size_t multicast_piece_bytes = 8192;

struct alignas(64) Block {
  std::byte bytes[block_bytes];
};

/// What every source of one pass is multiplied by.
template <class A, std::size_t K>
struct Scales {
  A at[K];
};

template <class Access, bool scaled, class A>
inline typename Access::Value term(const std::byte* address, A scale) {
  const auto value = Access::load(address);
  if constexpr (!scaled) {
    return value;
  } else if constexpr (std::is_integral_v<A>) {
    return Prod::combine(value, scale);
  } else {
    return value * scale;
  }
}

template <class T, class Access, class Op, bool scaled, bool continues, std::size_t... J>
inline void accumulate_element(const std::byte* const* sources, const Accumulator<T>* scales,
                               std::byte* block, std::size_t i, std::index_sequence<J...>) {
  using Value = typename Access::Value;
  constexpr std::size_t next = continues ? 0 : 1;
  std::byte* const slot = block + i * sizeof(Accumulator<T>);
  const std::size_t offset = i * sizeof(T);
  Value value =
      continues ? load_as<Value>(slot) : term<Access, scaled>(sources[0] + offset, scales[0]);
  ((value = Op::combine(value, term<Access, scaled>(sources[J + next] + offset, scales[J + next]))),
   ...);
  store_as<Value>(slot, value);
}

/// block = [block op] sources[0] op ... op sources[K-1], over n <= block_elements elements.
template <class T, class Op, bool scaled, bool continues, std::size_t K>
[[gnu::noinline]] void accumulate_pass(const Sources<K> sources,
                                       const Scales<Accumulator<T>, K> scales, std::byte* block,
                                       std::size_t n) {
  constexpr auto rest = std::make_index_sequence < continues ? K : K - 1 > ();
  std::size_t i = 0;
  if constexpr (Wide<T>::lanes > 1) {
    for (; i + Wide<T>::lanes <= n; i += Wide<T>::lanes)
      accumulate_element<T, Wide<T>, Op, scaled, continues>(sources.at, scales.at, block, i, rest);
  }
  RINGSIDE_INDEPENDENT_ITERATIONS
  for (; i < n; ++i)
    accumulate_element<T, Single<T>, Op, scaled, continues>(sources.at, scales.at, block, i, rest);
}

template <class T, class Op, bool scaled, bool continues, std::size_t K>
inline void accumulate(const KernelCall& call, std::size_t source, std::size_t element,
                       std::byte* block, std::size_t n) {
  using A = Accumulator<T>;
  Scales<A, K> scales{};
  if constexpr (scaled) {
    const A scalar = scalar_as<A>(call.scalar);
    for (std::size_t j = 0; j < K; ++j) {
      const bool marked = source + j < 64 && ((call.raw_mask >> (source + j)) & 1U) != 0;
      scales.at[j] = call.all_raw || marked ? scalar : A{1};  // times 1 is exact
    }
  }
  accumulate_pass<T, Op, scaled, continues, K>(
      advanced<K>(call.sources + source, element * sizeof(T)), scales, block, n);
}

/// The accumulators of elements [element, element + n) into `block`, strictly left to right.
template <class T, class Op, bool scaled>
void accumulate_sources(const KernelCall& call, std::size_t element, std::byte* block,
                        std::size_t n) {
  std::size_t done = 0;
  switch (call.k) {
    case 1:
      accumulate<T, Op, scaled, false, 1>(call, 0, element, block, n);
      return;
    case 2:
      accumulate<T, Op, scaled, false, 2>(call, 0, element, block, n);
      return;
    case 3:
      accumulate<T, Op, scaled, false, 3>(call, 0, element, block, n);
      return;
    default:
      accumulate<T, Op, scaled, false, 4>(call, 0, element, block, n);
      done = 4;
  }
  for (; done + 4 <= call.k; done += 4)
    accumulate<T, Op, scaled, true, 4>(call, done, element, block, n);
  for (; done < call.k; ++done) accumulate<T, Op, scaled, true, 1>(call, done, element, block, n);
}

/// From accumulators to elements of T: divides by `divisor` (if not 1), then rounds.
using Finish = void (*)(const std::byte* block, std::byte* elements, std::size_t n, int divisor);

template <class T, class Access, bool divides>
inline void finish_element(const std::byte* block, std::byte* elements, std::size_t i,
                           int divisor) {
  auto value = load_as<typename Access::Value>(block + i * sizeof(Accumulator<T>));
  if constexpr (divides) value = divided<T, Access>(value, divisor);
  Access::store(elements + i * sizeof(T), value);
}

template <class T, bool divides>
[[gnu::noinline]] void finish_pass(const std::byte* block, std::byte* elements, std::size_t n,
                                   int divisor) {
  std::size_t i = 0;
  if constexpr (Wide<T>::lanes > 1) {
    for (; i + Wide<T>::lanes <= n; i += Wide<T>::lanes)
      finish_element<T, Wide<T>, divides>(block, elements, i, divisor);
  }
  RINGSIDE_INDEPENDENT_ITERATIONS
  for (; i < n; ++i) finish_element<T, Single<T>, divides>(block, elements, i, divisor);
}

/// Null when a block of accumulators already is what is to be stored.
template <class T>
Finish finish_for(int divisor) {
  if (divisor != 1) return &finish_pass<T, true>;
  return std::is_same_v<T, Accumulator<T>> ? nullptr : &finish_pass<T, false>;
}

}  // namespace
}  // namespace ringside::RINGSIDE_ISA_NAMESPACE
