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

template <class A>
[[nodiscard]] RINGSIDE_HD constexpr typename BitsOf<A>::type bits_of(A value) {
  return __builtin_bit_cast(typename BitsOf<A>::type, value);
}

template <class A>
[[nodiscard]] RINGSIDE_HD constexpr A from_bits(typename BitsOf<A>::type bits) {
  return __builtin_bit_cast(A, bits);
}

// ---- 16-bit floats ------------------------------------------------------------------------------
// Written without branches, so that the compiler turns loops over them into vector code.

/// `condition ? yes : no` that stays arithmetic: a compiler may turn the operator into a branch
/// around a floating-point operation, which could trap, and then cannot turn it back.
[[nodiscard]] RINGSIDE_HD constexpr std::uint32_t select(bool condition, std::uint32_t yes,
                                                         std::uint32_t no) {
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(condition);
  return (yes & mask) | (no & ~mask);
}

/// Exact. A NaN keeps its payload, and its signalling bit.
[[nodiscard]] RINGSIDE_HD constexpr float to_float32(bfloat16 value) {
  return from_bits<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

/// Rounds to nearest, ties to even; too large becomes infinity; a NaN stays one, made quiet.
[[nodiscard]] RINGSIDE_HD constexpr bfloat16 to_bfloat16(float value) {
  const std::uint32_t bits = bits_of(value);
  // Half a unit in the last place, less one if the kept part is even: the carry does the rounding,
  // also into the exponent (and so into infinity).
  const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
  const std::uint32_t quiet_nan = bits | 0x00400000U;
  return {static_cast<unsigned short>(select(value != value, quiet_nan, rounded) >> 16)};
}

/// Exact, subnormals included. A NaN keeps its payload, and its signalling bit.
[[nodiscard]] RINGSIDE_HD constexpr float to_float32(float16 value) {
  const std::uint32_t sign = (value.bits & 0x8000U) << 16;
  const std::uint32_t magnitude = value.bits & 0x7fffU;
  const std::uint32_t widened = magnitude << 13;
  // Exponent biases are 15 and 127; infinity and NaN (exponent 31) must reach 255.
  const std::uint32_t normal = widened + ((127U - 15U) << 23);
  const std::uint32_t special = widened + ((255U - 31U) << 23);
  // A subnormal is an integer multiple of 2^-24, and exact in float32, where it is normal.
  const std::uint32_t subnormal =
      bits_of(static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F);
  const std::uint32_t finite = select(magnitude < 0x0400U, subnormal, normal);
  return from_bits<float>(sign | select(magnitude >= 0x7c00U, special, finite));
}

/// Rounds to nearest, ties to even; too large becomes infinity; a NaN stays one, made quiet.
[[nodiscard]] RINGSIDE_HD constexpr float16 to_float16(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t rounded =
      ((magnitude + 0x0fffU + ((magnitude >> 13) & 1U)) >> 13) - ((127U - 15U) << 10);
  const std::uint32_t normal =
      select(magnitude >= 0x47800000U, 0x7c00U, rounded);  // 2^16: infinity
  // In [0.5, 1) one unit in the last place of float32 is 2^-24, the spacing of float16's
  // subnormals: one addition rounds to it.
  const std::uint32_t subnormal = bits_of(from_bits<float>(magnitude) + 0.5F) - bits_of(0.5F);
  const std::uint32_t finite = select(magnitude < 0x38800000U, subnormal, normal);  // 2^-14
  const std::uint32_t quiet_nan = 0x7e00U | ((magnitude >> 13) & 0x01ffU);
  return {static_cast<unsigned short>(sign | select(value != value, quiet_nan, finite))};
}

// ---- 8-bit floats -------------------------------------------------------------------------------
// One text for both formats, branch-free like the above, and the same on host and device.

/// Where the two formats differ. Patterns are without the sign.
template <class T>
struct Float8;
template <>
struct Float8<float8_e4m3> {
  static constexpr std::uint32_t fraction_bits = 3;
  static constexpr std::uint32_t bias = 7;
  static constexpr std::uint32_t first_special = 0x7fU;  ///< the NaN
  static constexpr float largest = 448.0F;
};
template <>
struct Float8<float8_e5m2> {
  static constexpr std::uint32_t fraction_bits = 2;
  static constexpr std::uint32_t bias = 15;
  static constexpr std::uint32_t first_special = 0x7cU;  ///< infinity; NaNs follow
  static constexpr float largest = 57344.0F;
};

/// Exact, subnormals included. A NaN stays one, an infinity of E5M2 becomes float32's.
template <class T>
[[nodiscard]] RINGSIDE_HD constexpr float float8_to_float32(T value) {
  using Format = Float8<T>;
  const std::uint32_t sign = (value.bits & 0x80U) << 24;
  const std::uint32_t magnitude = value.bits & 0x7fU;
  const std::uint32_t widened = magnitude << (23U - Format::fraction_bits);
  const std::uint32_t normal = widened + ((127U - Format::bias) << 23);
  // All exponent bits set, and the fraction (of E4M3's NaN: all ones) kept.
  const std::uint32_t special = widened | 0x7f800000U;
  // A subnormal is the fraction above the smallest normal, less that; the difference is exact.
  constexpr std::uint32_t smallest_normal = (128U - Format::bias) << 23;
  const std::uint32_t subnormal =
      bits_of(from_bits<float>(widened | smallest_normal) - from_bits<float>(smallest_normal));
  const std::uint32_t finite = select(magnitude < (1U << Format::fraction_bits), subnormal, normal);
  return from_bits<float>(sign | select(magnitude >= Format::first_special, special, finite));
}

/// Rounds to nearest, ties to even, and saturates: too large and infinity become the largest finite
/// value of that sign. A NaN becomes the one of all ones, without sign, as on NVIDIA devices.
template <class T>
[[nodiscard]] RINGSIDE_HD constexpr T float32_to_float8(float value) {
  using Format = Float8<T>;
  constexpr std::uint32_t shift = 23U - Format::fraction_bits;
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t sign = (bits >> 24) & 0x80U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t largest = bits_of(Format::largest);
  const std::uint32_t kept = select(magnitude < largest, magnitude, largest);
  const std::uint32_t normal =
      ((kept + ((1U << (shift - 1U)) - 1U) + ((kept >> shift) & 1U)) >> shift) -
      ((127U - Format::bias) << Format::fraction_bits);
  // From `anchor` to twice that, one unit in the last place of float32 is the spacing of the
  // subnormals, 2^(1 - bias - fraction bits): one addition rounds to it.
  constexpr std::uint32_t anchor = (127U + 24U - Format::bias - Format::fraction_bits) << 23;
  const std::uint32_t subnormal =
      bits_of(from_bits<float>(kept) + from_bits<float>(anchor)) - anchor;
  constexpr std::uint32_t smallest_normal = (128U - Format::bias) << 23;
  const std::uint32_t finite = select(kept < smallest_normal, subnormal, normal);
  return {static_cast<unsigned char>(select(magnitude > 0x7f800000U, 0x7fU, sign | finite))};
}

[[nodiscard]] RINGSIDE_HD constexpr float to_float32(float8_e4m3 value) {
  return float8_to_float32(value);
}
[[nodiscard]] RINGSIDE_HD constexpr float to_float32(float8_e5m2 value) {
  return float8_to_float32(value);
}
[[nodiscard]] RINGSIDE_HD constexpr float8_e4m3 to_float8_e4m3(float value) {
  return float32_to_float8<float8_e4m3>(value);
}
[[nodiscard]] RINGSIDE_HD constexpr float8_e5m2 to_float8_e5m2(float value) {
  return float32_to_float8<float8_e5m2>(value);
}

// ---- Elements and the type they are folded in ---------------------------------------------------

/// `Accumulator`, `load` and `store` of a storage type. Only the narrow floats need a conversion.
template <class T>
struct Element {
  using Accumulator = T;
  [[nodiscard]] RINGSIDE_HD static constexpr T load(T stored) { return stored; }
  [[nodiscard]] RINGSIDE_HD static constexpr T store(T value) { return value; }
};

template <>
struct Element<float16> {
  using Accumulator = float;
  [[nodiscard]] RINGSIDE_HD static constexpr float load(float16 stored) {
    return to_float32(stored);
  }
  [[nodiscard]] RINGSIDE_HD static constexpr float16 store(float value) {
    return to_float16(value);
  }
};

template <>
struct Element<bfloat16> {
  using Accumulator = float;
  [[nodiscard]] RINGSIDE_HD static constexpr float load(bfloat16 stored) {
    return to_float32(stored);
  }
  [[nodiscard]] RINGSIDE_HD static constexpr bfloat16 store(float value) {
    return to_bfloat16(value);
  }
};

template <>
struct Element<float8_e4m3> {
  using Accumulator = float;
  [[nodiscard]] RINGSIDE_HD static constexpr float load(float8_e4m3 stored) {
    return to_float32(stored);
  }
  [[nodiscard]] RINGSIDE_HD static constexpr float8_e4m3 store(float value) {
    return to_float8_e4m3(value);
  }
};

template <>
struct Element<float8_e5m2> {
  using Accumulator = float;
  [[nodiscard]] RINGSIDE_HD static constexpr float load(float8_e5m2 stored) {
    return to_float32(stored);
  }
  [[nodiscard]] RINGSIDE_HD static constexpr float8_e5m2 store(float value) {
    return to_float8_e5m2(value);
  }
};

template <class T>
using Accumulator = typename Element<T>::Accumulator;

// ---- Operators ----------------------------------------------------------------------------------

/// Integers wrap: computed unsigned (and wide enough not to be promoted to a signed int).
template <class A>
using Wrapping = std::conditional_t<sizeof(A) == 8, std::uint64_t, std::uint32_t>;

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
    if constexpr (std::is_integral_v<A>) {
      return b < a ? b : a;
    } else {
      return from_bits<A>(bits_of<A>(a < b ? a : b) | bits_of<A>(b < a ? b : a));
    }
  }
};

struct Max {
  template <class A>
  [[nodiscard]] RINGSIDE_HD static constexpr A combine(A a, A b) {
    if constexpr (std::is_integral_v<A>) {
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
