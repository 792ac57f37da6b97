// SPDX-License-Identifier: MIT
/// Vectors of elements for the fold kernels: how a few elements at any address become a vector of
/// accumulators and back. Part of kernels.inl, under its rules.
///
/// The vectors are the compiler's generic ones, so one text serves every instruction set; only the
/// conversion instructions of float16 are named.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "ringside/collectives/reduction/element.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
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

template <class E, std::size_t lanes>
struct VectorOf {
  typedef E type __attribute__((vector_size(lanes * sizeof(E))));
};
template <class E, std::size_t lanes>
using Vector = typename VectorOf<E, lanes>::type;

template <class V>
concept IsVector = requires(V v) {
  v[0];
};
template <IsVector V>
using LaneOf = std::remove_cvref_t<decltype(V{}[0])>;
template <IsVector V>
inline constexpr std::size_t lanes_of = sizeof(V) / sizeof(LaneOf<V>);

template <IsVector V>
inline constexpr bool holds_integers<V> = std::is_integral_v<LaneOf<V>>;
template <IsVector V>
struct BitsOf<V> {
  using type = Vector<typename BitsOf<LaneOf<V>>::type, lanes_of<V>>;
};
template <IsVector U>
struct FloatOf<U> {
  using type = Vector<typename FloatOf<LaneOf<U>>::type, lanes_of<U>>;
};

namespace {

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

/// `count` elements of T at an address, as a `Value` of accumulators.
template <class T, std::size_t count>
struct Access {
  using Value = Vector<T, count>;
  static Value load(const std::byte* address) { return load_as<Value>(address); }
  static void store(std::byte* address, Value value) { store_as(address, value); }
};

template <class T>
struct Access<T, 1> {
  using Value = Accumulator<T>;
  static Value load(const std::byte* address) { return Element<T>::load(load_as<T>(address)); }
  static void store(std::byte* address, Value value) {
    store_as(address, Element<T>::store(value));
  }
};

template <class T, std::size_t count>
requires(is_narrow<T>&& count > 1) struct Access<T, count> {
  using Value = Vector<float, count>;
  using Words = Vector<std::uint32_t, count>;
  using Patterns = Vector<decltype(T::bits), count>;
  static Value load(const std::byte* address) {
    return from_bits<Value>(
        Narrow<T>::widened(__builtin_convertvector(load_as<Patterns>(address), Words)));
  }
  static void store(std::byte* address, Value value) {
    store_as(address, __builtin_convertvector(Narrow<T>::narrowed(bits_of(value)), Patterns));
  }
};

#ifdef __F16C__
// Compilers do not find the conversion instructions by themselves.
template <>
struct Access<float16, 1> {
  using Value = float;
  static float load(const std::byte* address) {
    return _cvtsh_ss(load_as<unsigned short>(address));
  }
  static void store(std::byte* address, float value) {
    const __m128i narrowed = _mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT);
    store_as(address, static_cast<unsigned short>(_mm_cvtsi128_si32(narrowed)));
  }
};

template <>
struct Access<float16, 4> {
  using Value = Vector<float, 4>;
  static Value load(const std::byte* address) {
    return (Value)_mm_cvtph_ps(_mm_cvtsi64_si128(load_as<long long>(address)));
  }
  static void store(std::byte* address, Value value) {
    store_as<long long>(address,
                        _mm_cvtsi128_si64(_mm_cvtps_ph((__m128)value, _MM_FROUND_TO_NEAREST_INT)));
  }
};

template <>
struct Access<float16, 8> {
  using Value = Vector<float, 8>;
  static Value load(const std::byte* address) {
    return (Value)_mm256_cvtph_ps(load_as<__m128i>(address));
  }
  static void store(std::byte* address, Value value) {
    store_as<__m128i>(address, _mm256_cvtps_ph((__m256)value, _MM_FROUND_TO_NEAREST_INT));
  }
};
#endif

#ifdef __AVX512F__
template <>
struct Access<float16, 16> {
  using Value = Vector<float, 16>;
  // Masked by all ones: in GCC 12 the unmasked forms warn of an uninitialised variable of theirs.
  static constexpr __mmask16 every_lane = 0xffff;
  static Value load(const std::byte* address) {
    return (Value)_mm512_maskz_cvtph_ps(every_lane, load_as<__m256i>(address));
  }
  static void store(std::byte* address, Value value) {
    store_as<__m256i>(address,
                      _mm512_maskz_cvtps_ph(every_lane, (__m512)value, _MM_FROUND_TO_NEAREST_INT));
  }
};
#endif

/// Elements in the widest vector of accumulators, and in the narrowest that is worth one.
template <class T>
inline constexpr std::size_t most_lanes = vector_bytes / sizeof(Accumulator<T>);
template <class T>
inline constexpr std::size_t fewest_lanes = is_narrow<T> ? 4 : 8 / sizeof(T);

}  // namespace
}  // namespace ringside::RINGSIDE_ISA_NAMESPACE
