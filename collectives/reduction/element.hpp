// SPDX-License-Identifier: MIT
/// What happens to one element: how it is loaded into the type it is folded in, combined, scaled,
/// divided and stored. This is the arithmetic of every backend; the loops around it differ.
///
/// Everything here is a pure function of values that device code can take (no calls into the
/// standard library). A host file compiled for a particular instruction set defines
/// RINGSIDE_ISA_NAMESPACE first: the linker keeps one copy of an inline function, and that copy
/// must not be one that needs AVX-512 on a machine without it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ringside/collectives/reduction/types.hpp"

#ifndef RINGSIDE_ISA_NAMESPACE
#define RINGSIDE_ISA_NAMESPACE isa_default
#endif

#ifdef __CUDACC__
#define RINGSIDE_HD __host__ __device__
#else
#define RINGSIDE_HD
#endif

namespace ringside::RINGSIDE_ISA_NAMESPACE {

/// The unsigned integer with the bits of a floating-point accumulator (kernels add vectors).
template <class A>
struct BitsOf;
template <>
struct BitsOf<float> {
  using type = std::uint32_t;
};
template <>
struct BitsOf<double> {
  using type = std::uint64_t;
};

/// True for integers and (see the kernels) vectors of integers.
template <class A>
inline constexpr bool holds_integers = std::is_integral_v<A>;

template <class A>
[[nodiscard]] RINGSIDE_HD constexpr typename BitsOf<A>::type bits_of(A value) {
  return __builtin_bit_cast(typename BitsOf<A>::type, value);
}

template <class A>
[[nodiscard]] RINGSIDE_HD constexpr A from_bits(typename BitsOf<A>::type bits) {
  return __builtin_bit_cast(A, bits);
}

// ---- Narrow floats ------------------------------------------------------------------------------
// Written without branches and for any word U: std::uint32_t, or a vector of them in the kernels.
// So there is one text for both, and none of the ways to vectorise it can change a bit.

/// The floating-point type with the bits of a word.
template <class U>
struct FloatOf;
template <>
struct FloatOf<std::uint32_t> {
  using type = float;
};

/// `condition ? yes : no` that stays arithmetic: a compiler may turn the operator into a branch
/// around a floating-point operation, which could trap, and then cannot turn it back.
[[nodiscard]] RINGSIDE_HD constexpr std::uint32_t select(bool condition, std::uint32_t yes,
                                                         std::uint32_t no) {
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(condition);
  return (yes & mask) | (no & ~mask);
}

/// Lane by lane; a vector's operator never is a branch.
template <class Mask, class U>
requires(!std::is_same_v<Mask, bool>) [[nodiscard]] RINGSIDE_HD constexpr U
    select(Mask condition, U yes, U no) {
  return condition ? yes : no;
}

/// A word, or a vector with the word in every lane.
template <class U>
[[nodiscard]] RINGSIDE_HD constexpr U splat(std::uint32_t word) {
  return U{} + word;
}

/// What tells the formats with fewer exponent bits than float32 apart. Patterns are without sign.
template <class T>
struct Format;
template <>
struct Format<float16> {
  static constexpr std::uint32_t fraction_bits = 10;
  static constexpr std::uint32_t bias = 15;
  static constexpr std::uint32_t first_special = 0x7c00U;  ///< infinity; NaNs follow
  static constexpr float ceiling = 65536.0F;               ///< larger numbers become what this does
};
template <>
struct Format<float8_e4m3> {
  static constexpr std::uint32_t fraction_bits = 3;
  static constexpr std::uint32_t bias = 7;
  static constexpr std::uint32_t first_special = 0x7fU;  ///< the NaN
  static constexpr float ceiling = 448.0F;               ///< the largest number
};
template <>
struct Format<float8_e5m2> {
  static constexpr std::uint32_t fraction_bits = 2;
  static constexpr std::uint32_t bias = 15;
  static constexpr std::uint32_t first_special = 0x7cU;  ///< infinity; NaNs follow
  static constexpr float ceiling = 57344.0F;             ///< the largest number
};

template <class T>
inline constexpr std::uint32_t sign_bit = 1U << (8 * sizeof(T) - 1);

/// The bits of float32 for a pattern of T. Exact, subnormals included. A NaN keeps its payload, and
/// its signalling bit.
template <class T, class U>
[[nodiscard]] RINGSIDE_HD constexpr U widen(U pattern) {
  using F = typename FloatOf<U>::type;
  const U sign = (pattern & sign_bit<T>) << (32U - 8U * sizeof(T));
  const U magnitude = pattern & (sign_bit<T> - 1U);
  const U wide = magnitude << (23U - Format<T>::fraction_bits);
  const U normal = wide + ((127U - Format<T>::bias) << 23);
  const U special = wide | 0x7f800000U;
  // A subnormal is what its fraction adds to the smallest normal number; the difference is exact.
  const U smallest_normal = splat<U>((128U - Format<T>::bias) << 23);
  const U subnormal = bits_of(from_bits<F>(wide | smallest_normal) - from_bits<F>(smallest_normal));
  const U finite = select(magnitude < (1U << Format<T>::fraction_bits), subnormal, normal);
  return sign | select(magnitude >= Format<T>::first_special, special, finite);
}

template <class U>
[[nodiscard]] RINGSIDE_HD constexpr U widen_bfloat16(U pattern) {
  return pattern << 16U;
}

/// The pattern of T for the bits of a float32, rounded to nearest, ties to even. Too large becomes
/// infinity, in 8 bits the largest finite number. A NaN stays one: made quiet, in 8 bits all ones
/// without sign (which is what NVIDIA's conversion instructions give).
template <class T, class U>
[[nodiscard]] RINGSIDE_HD constexpr U narrow(U bits) {
  using F = typename FloatOf<U>::type;
  constexpr std::uint32_t fraction_bits = Format<T>::fraction_bits;
  constexpr std::uint32_t bias = Format<T>::bias;
  constexpr std::uint32_t shift = 23U - fraction_bits;
  const U sign = (bits >> (32U - 8U * sizeof(T))) & sign_bit<T>;
  const U magnitude = bits & 0x7fffffffU;
  const U ceiling = splat<U>(bits_of(Format<T>::ceiling));
  const U kept = select(magnitude < ceiling, magnitude, ceiling);
  // Half a unit in the last place, less one if the kept part is even: the carry does the rounding,
  // also into the exponent. The constant moves the exponent's bias too.
  constexpr std::uint32_t half = (1U << (shift - 1U)) - 1U - ((127U - bias) << 23);
  const U normal = (kept + half + ((kept >> shift) & 1U)) >> shift;
  // From the anchor to twice that, one unit in the last place of float32 is the spacing of T's
  // subnormals, 2^(1 - bias - fraction bits): one addition rounds to it.
  const U anchor = splat<U>((151U - bias - fraction_bits) << 23);
  const U subnormal = bits_of(from_bits<F>(kept) + from_bits<F>(anchor)) - anchor;
  const U finite = select(kept < ((128U - bias) << 23), subnormal, normal);
  if constexpr (sizeof(T) == 1) {
    return select(magnitude > 0x7f800000U, splat<U>(0x7fU), sign | finite);
  } else {
    const U quiet_nan = 0x7e00U | ((magnitude >> shift) & 0x01ffU);
    return sign | select(magnitude > 0x7f800000U, quiet_nan, finite);
  }
}

/// The same for bfloat16, whose exponent is float32's.
template <class U>
[[nodiscard]] RINGSIDE_HD constexpr U narrow_bfloat16(U bits) {
  const U rounded = bits + 0x7fffU + ((bits >> 16U) & 1U);
  const U quiet_nan = bits | 0x00400000U;
  return select((bits & 0x7fffffffU) > 0x7f800000U, quiet_nan, rounded) >> 16U;
}

/// By type: how a pattern is widened and narrowed.
template <class T>
struct Narrow {
  template <class U>
  [[nodiscard]] RINGSIDE_HD static constexpr U widened(U pattern) {
    return widen<T>(pattern);
  }
  template <class U>
  [[nodiscard]] RINGSIDE_HD static constexpr U narrowed(U bits) {
    return narrow<T>(bits);
  }
};
template <>
struct Narrow<bfloat16> {
  template <class U>
  [[nodiscard]] RINGSIDE_HD static constexpr U widened(U pattern) {
    return widen_bfloat16(pattern);
  }
  template <class U>
  [[nodiscard]] RINGSIDE_HD static constexpr U narrowed(U bits) {
    return narrow_bfloat16(bits);
  }
};

template <class T>
[[nodiscard]] RINGSIDE_HD constexpr float to_float32(T value) {
  return from_bits<float>(Narrow<T>::widened(std::uint32_t{value.bits}));
}
template <class T>
[[nodiscard]] RINGSIDE_HD constexpr T from_float32(float value) {
  return {static_cast<decltype(T::bits)>(Narrow<T>::narrowed(bits_of(value)))};
}
[[nodiscard]] RINGSIDE_HD constexpr float16 to_float16(float value) {
  return from_float32<float16>(value);
}
[[nodiscard]] RINGSIDE_HD constexpr bfloat16 to_bfloat16(float value) {
  return from_float32<bfloat16>(value);
}
[[nodiscard]] RINGSIDE_HD constexpr float8_e4m3 to_float8_e4m3(float value) {
  return from_float32<float8_e4m3>(value);
}
[[nodiscard]] RINGSIDE_HD constexpr float8_e5m2 to_float8_e5m2(float value) {
  return from_float32<float8_e5m2>(value);
}

// ---- Elements and the type they are folded in ---------------------------------------------------

/// float16, bfloat16 and the 8-bit floats.
template <class T>
concept IsNarrow = std::is_class_v<T>;

/// `Accumulator`, `load` and `store` of a storage type. Only the narrow floats need a conversion.
template <class T>
struct Element {
  using Accumulator = T;
  [[nodiscard]] RINGSIDE_HD static constexpr T load(T stored) { return stored; }
  [[nodiscard]] RINGSIDE_HD static constexpr T store(T value) { return value; }
};

template <IsNarrow T>
struct Element<T> {
  using Accumulator = float;
  [[nodiscard]] RINGSIDE_HD static constexpr float load(T stored) { return to_float32(stored); }
  [[nodiscard]] RINGSIDE_HD static constexpr T store(float value) { return from_float32<T>(value); }
};

template <class T>
using Accumulator = typename Element<T>::Accumulator;

// ---- Operators ----------------------------------------------------------------------------------

/// Integers wrap: computed unsigned (and wide enough not to be promoted to a signed int).
template <class A>
using Wrapping = std::conditional_t<sizeof(A) == 8, std::uint64_t, std::uint32_t>;

/// Signed integers add and multiply as unsigned ones do.
template <class T>
struct ModularOf {
  using type = T;
};
template <>
struct ModularOf<std::int8_t> {
  using type = std::uint8_t;
};
template <>
struct ModularOf<std::int32_t> {
  using type = std::uint32_t;
};
template <>
struct ModularOf<std::int64_t> {
  using type = std::uint64_t;
};

struct Sum {
  template <class A>
  [[nodiscard]] RINGSIDE_HD static constexpr A combine(A a, A b) {
    if constexpr (std::is_integral_v<A>) {
      return static_cast<A>(static_cast<Wrapping<A>>(a) + static_cast<Wrapping<A>>(b));
    } else {
      return a + b;
    }
  }
};

struct Prod {
  template <class A>
  [[nodiscard]] RINGSIDE_HD static constexpr A combine(A a, A b) {
    if constexpr (std::is_integral_v<A>) {
      return static_cast<A>(static_cast<Wrapping<A>>(a) * static_cast<Wrapping<A>>(b));
    } else {
      return a * b;
    }
  }
};

/// NaN wins, and -0 < +0. The two ways round give the same bits for ordinary numbers; for zeros of
/// both signs one of each, whose "or" is -0; for a NaN and a number, once the NaN, whose "or" with
/// anything is a NaN. No branch, and one instruction each on most machines.
struct Min {
  template <class A>
  [[nodiscard]] RINGSIDE_HD static constexpr A combine(A a, A b) {
    if constexpr (holds_integers<A>) {
      return b < a ? b : a;
    } else {
      return from_bits<A>(bits_of<A>(a < b ? a : b) | bits_of<A>(b < a ? b : a));
    }
  }
};

struct Max {
  template <class A>
  [[nodiscard]] RINGSIDE_HD static constexpr A combine(A a, A b) {
    if constexpr (holds_integers<A>) {
      return a < b ? b : a;
    } else {
      return -Min::combine<A>(-a, -b);
    }
  }
};

/// `value / ranks` for an average. Floating point: one division in the accumulation type, by
/// `ranks` converted to it. Integers: truncated towards zero. 1 <= ranks.
template <class A>
[[nodiscard]] RINGSIDE_HD constexpr A divide(A value, int ranks) {
  if constexpr (!std::is_integral_v<A>) {
    return value / static_cast<A>(ranks);
  } else if constexpr (sizeof(A) == 8) {
    return value / static_cast<A>(ranks);
  } else {
    // A quotient below 2^32 that is no integer is at least 2^-32 of itself away from one, far more
    // than a double's rounding, so truncating the rounded quotient is integer division; and
    // unlike integer division it has vector instructions.
    return static_cast<A>(static_cast<double>(value) / static_cast<double>(ranks));
  }
}

/// The scalar of a premultiplied sum in the accumulation type. Integers: truncated towards zero,
/// kept within [-2^63, 2^64) (NaN: 0), then wrapped to the type's width.
template <class A>
[[nodiscard]] RINGSIDE_HD constexpr A scalar_as(double scalar) {
  if constexpr (!std::is_integral_v<A>) {
    return static_cast<A>(scalar);
  } else {
    if (scalar != scalar) return A{0};
    if (scalar >= 0x1p64) return static_cast<A>(UINT64_MAX);
    if (scalar >= 0x1p63) return static_cast<A>(static_cast<std::uint64_t>(scalar));
    if (scalar < -0x1p63) return static_cast<A>(INT64_MIN);
    return static_cast<A>(static_cast<std::int64_t>(scalar));
  }
}

}  // namespace ringside::RINGSIDE_ISA_NAMESPACE
