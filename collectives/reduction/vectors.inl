// SPDX-License-Identifier: MIT
/// Vectors of elements for the fold kernels: how a few elements at any address become a vector of
/// accumulators and back. Part of kernels.inl, under its rules.
///
/// The vectors are the compiler's generic ones, so one text of the arithmetic serves every
/// instruction set; only what changes the width of elements names instructions.
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

#ifdef __AVX512F__
/// For the masked forms of intrinsics: in GCC 12 the others warn of an uninitialised variable of
/// theirs.
constexpr __mmask16 every_lane = 0xffff;
#endif

/// `count` unsigned integers of 8 or 16 bits at an address, as 32-bit words, and back (words that
/// fit). The compiler's own conversion of vectors takes them apart in general registers (GCC 12).
template <class Bits, std::size_t count>
struct Words {
  using Value = Vector<std::uint32_t, count>;
  static Value load(const std::byte* address) {
    return __builtin_convertvector((load_as<Vector<Bits, count>>(address)), Value);
  }
  static void store(std::byte* address, Value words) {
    store_as(address, __builtin_convertvector(words, Vector<Bits, count>));
  }
};

#if defined(__SSE2__)
template <class Bits>
struct Words<Bits, 4> {
  using Value = Vector<std::uint32_t, 4>;
  static Value load(const std::byte* address) {
    const __m128i zero = _mm_setzero_si128();
    if constexpr (sizeof(Bits) == 1) {
      const __m128i halves = _mm_unpacklo_epi8(_mm_cvtsi32_si128(load_as<int>(address)), zero);
      return (Value)_mm_unpacklo_epi16(halves, zero);
    } else {
      return (Value)_mm_unpacklo_epi16(_mm_cvtsi64_si128(load_as<long long>(address)), zero);
    }
  }
  static void store(std::byte* address, Value words) {
    if constexpr (sizeof(Bits) == 1) {
      const __m128i halves = _mm_packs_epi32((__m128i)words, (__m128i)words);
      store_as<int>(address, _mm_cvtsi128_si32(_mm_packus_epi16(halves, halves)));
    } else {
      // As signed numbers, which packing keeps: unsigned packing came later than SSE2.
      const __m128i extended = _mm_srai_epi32(_mm_slli_epi32((__m128i)words, 16), 16);
      store_as<long long>(address, _mm_cvtsi128_si64(_mm_packs_epi32(extended, extended)));
    }
  }
};
#endif

#ifdef __AVX2__
template <class Bits>
struct Words<Bits, 8> {
  using Value = Vector<std::uint32_t, 8>;
  static Value load(const std::byte* address) {
    if constexpr (sizeof(Bits) == 1) {
      return (Value)_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(load_as<long long>(address)));
    } else {
      return (Value)_mm256_cvtepu16_epi32(load_as<__m128i>(address));
    }
  }
  static void store(std::byte* address, Value words) {
    const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128((__m256i)words),
                                            _mm256_extracti128_si256((__m256i)words, 1));
    if constexpr (sizeof(Bits) == 1) {
      store_as<long long>(address, _mm_cvtsi128_si64(_mm_packus_epi16(halves, halves)));
    } else {
      store_as(address, halves);
    }
  }
};
#endif

#ifdef __AVX512F__
template <class Bits>
struct Words<Bits, 16> {
  using Value = Vector<std::uint32_t, 16>;
  static Value load(const std::byte* address) {
    if constexpr (sizeof(Bits) == 1) {
      return (Value)_mm512_maskz_cvtepu8_epi32(every_lane, load_as<__m128i>(address));
    } else {
      return (Value)_mm512_maskz_cvtepu16_epi32(every_lane, load_as<__m256i>(address));
    }
  }
  static void store(std::byte* address, Value words) {
    if constexpr (sizeof(Bits) == 1) {
      store_as(address, _mm512_maskz_cvtepi32_epi8(every_lane, (__m512i)words));
    } else {
      store_as(address, _mm512_maskz_cvtepi32_epi16(every_lane, (__m512i)words));
    }
  }
};
#endif

template <std::size_t count>
concept Several = count >
1;
template <class T>
concept IsByte = sizeof(T) == 1;

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

template <IsNarrow T, std::size_t count>
requires Several<count>
struct Access<T, count> {
  using Value = Vector<float, count>;
  using Patterns = Words<decltype(T::bits), count>;
  static Value load(const std::byte* address) {
    return from_bits<Value>(Narrow<T>::widened(Patterns::load(address)));
  }
  static void store(std::byte* address, Value value) {
    Patterns::store(address, Narrow<T>::narrowed(bits_of(value)));
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

/// `count` float16 in the low part of a register: to float32, from bytes widened to their patterns,
/// and to where they are stored.
template <std::size_t count>
struct Halves;
template <>
struct Halves<4> {
  using Register = __m128i;
  static Register load(const std::byte* address) {
    return _mm_cvtsi64_si128(load_as<long long>(address));
  }
  static Register load_bytes(const std::byte* address) {
    return _mm_cvtepu8_epi16(_mm_cvtsi32_si128(load_as<int>(address)));
  }
  static Vector<float, 4> widened(Register halves) {
    return (Vector<float, 4>)_mm_cvtph_ps(halves);
  }
  static void store(std::byte* address, Vector<float, 4> value) {
    store_as<long long>(address,
                        _mm_cvtsi128_si64(_mm_cvtps_ph((__m128)value, _MM_FROUND_TO_NEAREST_INT)));
  }
};
template <>
struct Halves<8> {
  using Register = __m128i;
  static Register load(const std::byte* address) { return load_as<__m128i>(address); }
  static Register load_bytes(const std::byte* address) {
    return _mm_cvtepu8_epi16(_mm_cvtsi64_si128(load_as<long long>(address)));
  }
  static Vector<float, 8> widened(Register halves) {
    return (Vector<float, 8>)_mm256_cvtph_ps(halves);
  }
  static void store(std::byte* address, Vector<float, 8> value) {
    store_as(address, _mm256_cvtps_ph((__m256)value, _MM_FROUND_TO_NEAREST_INT));
  }
};
#ifdef __AVX512F__
template <>
struct Halves<16> {
  using Register = __m256i;
  static Register load(const std::byte* address) { return load_as<__m256i>(address); }
  static Register load_bytes(const std::byte* address) {
    return _mm256_cvtepu8_epi16(load_as<__m128i>(address));
  }
  static Vector<float, 16> widened(Register halves) {
    return (Vector<float, 16>)_mm512_maskz_cvtph_ps(every_lane, halves);
  }
  static void store(std::byte* address, Vector<float, 16> value) {
    store_as(address, _mm512_maskz_cvtps_ph(every_lane, (__m512)value, _MM_FROUND_TO_NEAREST_INT));
  }
};
#endif

template <std::size_t count>
requires Several<count>
struct Access<float16, count> {
  using Value = Vector<float, count>;
  static Value load(const std::byte* address) {
    return Halves<count>::widened(Halves<count>::load(address));
  }
  static void store(std::byte* address, Value value) { Halves<count>::store(address, value); }
};

/// 8-bit floats are loaded by way of float16, which holds all of them: E5M2 is its upper half; E4M3
/// has the exponent's bits in the same places after a shift, but means 2^8 times as much, and its
/// NaN would be a number.
template <IsNarrow T, std::size_t count>
requires Several<count> && IsByte<T>
struct Access<T, count> {
  using Value = Vector<float, count>;
  using Register = typename Halves<count>::Register;
  using Signed = Vector<std::int16_t, sizeof(Register) / 2>;
  static Value load(const std::byte* address) {
    const Signed upper = (Signed)Halves<count>::load_bytes(address) << 8;
    if constexpr (std::is_same_v<T, float8_e5m2>) {
      return Halves<count>::widened((Register)upper);
    } else {
      const Signed shifted = (upper >> 1) & static_cast<std::int16_t>(0xbfff);  // sign stays
      const Signed is_nan = (shifted & static_cast<std::int16_t>(0x7fff)) == 0x3f80;
      const Signed halves = shifted | (is_nan & static_cast<std::int16_t>(0x7c00));
      return Halves<count>::widened((Register)halves) * 0x1p8F;
    }
  }
  static void store(std::byte* address, Value value) {
    Words<decltype(T::bits), count>::store(address, Narrow<T>::narrowed(bits_of(value)));
  }
};
#endif

/// Elements in the widest vector of accumulators, and in the narrowest that is worth one.
template <class T>
inline constexpr std::size_t most_lanes = vector_bytes / sizeof(Accumulator<T>);
template <class T>
inline constexpr std::size_t fewest_lanes = IsNarrow<T> ? 4 : 8 / sizeof(T);

}  // namespace
}  // namespace ringside::RINGSIDE_ISA_NAMESPACE
