// SPDX-License-Identifier: MIT
/// Elements on the device: 16-byte vectors and single elements, taken apart into accumulators and
/// put together again. The arithmetic is element.hpp's; where the hardware's conversions give the
/// same bits (up to the kind of NaN), they are used instead of integer code.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "ringside/collectives/reduction/element.hpp"

namespace ringside::cuda {

using namespace RINGSIDE_ISA_NAMESPACE;

// ---- Narrow floats, two at a time ---------------------------------------------------------------

#ifdef __CUDA_ARCH__
#define RINGSIDE_DEVICE_ARCH __CUDA_ARCH__
#else
#define RINGSIDE_DEVICE_ARCH 0  // the host: element.hpp's code
#endif

struct FloatPair {
  float low;
  float high;
};

/// The two elements of T in the lower 2 * sizeof(T) bytes.
template <class T>
[[nodiscard]] __device__ inline FloatPair widen_pair(std::uint32_t pair) {
#if RINGSIDE_DEVICE_ARCH >= 890
  if constexpr (sizeof(T) == 1) {  // both formats are exact in float16
    std::uint32_t halves;
    const auto bits = static_cast<std::uint16_t>(pair);
    if constexpr (std::is_same_v<T, float8_e4m3>) {
      asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(bits));
    } else {
      asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(bits));
    }
    return widen_pair<float16>(halves);
  }
#endif
#if RINGSIDE_DEVICE_ARCH >= 750
  if constexpr (std::is_same_v<T, float16>) {
    FloatPair result;
    asm("{.reg .b16 low, high; mov.b32 {low, high}, %2; cvt.f32.f16 %0, low; cvt.f32.f16 %1, high;}"
        : "=f"(result.low), "=f"(result.high)
        : "r"(pair));
    return result;
  }
#endif
  constexpr std::uint32_t bits = 8 * sizeof(T);
  constexpr std::uint32_t mask = (1U << bits) - 1U;
  return {from_bits<float>(Narrow<T>::widened(pair & mask)),
          from_bits<float>(Narrow<T>::widened((pair >> bits) & mask))};
}

/// Two elements of T in the lower 2 * sizeof(T) bytes, each rounded once.
template <class T>
[[nodiscard]] __device__ inline std::uint32_t narrow_pair(FloatPair values) {
#if RINGSIDE_DEVICE_ARCH >= 890
  if constexpr (sizeof(T) == 1) {
    std::uint16_t bits;
    if constexpr (std::is_same_v<T, float8_e4m3>) {
      asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;"
          : "=h"(bits)
          : "f"(values.high), "f"(values.low));
    } else {
      asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;"
          : "=h"(bits)
          : "f"(values.high), "f"(values.low));
    }
    return bits;
  }
#endif
#if RINGSIDE_DEVICE_ARCH >= 800
  if constexpr (std::is_same_v<T, float16>) {
    std::uint32_t bits;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(values.high), "f"(values.low));
    return bits;
  }
  if constexpr (std::is_same_v<T, bfloat16>) {
    std::uint32_t bits;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(values.high), "f"(values.low));
    return bits;
  }
#elif RINGSIDE_DEVICE_ARCH >= 750
  if constexpr (std::is_same_v<T, float16>) {
    std::uint16_t low;
    std::uint16_t high;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(low) : "f"(values.low));
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(high) : "f"(values.high));
    return low | std::uint32_t{high} << 16;
  }
#endif
  constexpr std::uint32_t bits = 8 * sizeof(T);
  return Narrow<T>::narrowed(bits_of(values.low)) | Narrow<T>::narrowed(bits_of(values.high))
                                                        << bits;
}

// ---- Ways to lie in memory ----------------------------------------------------------------------

/// Elements that are loaded and stored at once, and how. `Packed` is what is in memory.
/// `at_once`: independent loads that a thread issues for a source before it uses the first.

template <class T>
struct Vectors {
  using Packed = uint4;
  static constexpr unsigned lanes = sizeof(Packed) / sizeof(T);
  /// Of one-byte elements two, whose accumulators take as many registers as four of others.
  static constexpr unsigned at_once = sizeof(T) == 1 ? 2 : 4;

  struct Elements {
    T element[lanes];
  };

  [[nodiscard]] __device__ static Packed load(const std::byte* at) {
    return *reinterpret_cast<const Packed*>(at);
  }
  __device__ static void store(std::byte* at, Packed packed) {
    *reinterpret_cast<Packed*>(at) = packed;
  }

  __device__ static void unpack(Packed packed, Accumulator<T> (&values)[lanes]) {
    if constexpr (IsNarrow<T>) {
      constexpr unsigned pairs = lanes / 8;  // in a word
      const std::uint32_t words[] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
      for (unsigned i = 0; i < lanes / 2; ++i) {
        const auto pair = widen_pair<T>(words[i / pairs] >> (i % pairs * 16));
        values[2 * i] = pair.low;
        values[2 * i + 1] = pair.high;
      }
    } else {
      const auto elements = __builtin_bit_cast(Elements, packed);
#pragma unroll
      for (unsigned i = 0; i < lanes; ++i) values[i] = elements.element[i];
    }
  }

  [[nodiscard]] __device__ static Packed pack(const Accumulator<T> (&values)[lanes]) {
    if constexpr (IsNarrow<T>) {
      constexpr unsigned pairs = lanes / 8;
      std::uint32_t words[4] = {};
#pragma unroll
      for (unsigned i = 0; i < lanes / 2; ++i)
        words[i / pairs] |= narrow_pair<T>({values[2 * i], values[2 * i + 1]}) << (i % pairs * 16);
      return {words[0], words[1], words[2], words[3]};
    } else {
      Elements elements;
#pragma unroll
      for (unsigned i = 0; i < lanes; ++i) elements.element[i] = values[i];
      return __builtin_bit_cast(Packed, elements);
    }
  }
};

/// What single elements have in common.
template <class T>
struct Single {
  using Packed = T;
  static constexpr unsigned lanes = 1;

  __device__ static void unpack(T packed, Accumulator<T> (&values)[1]) {
    if constexpr (IsNarrow<T>) {
      values[0] = widen_pair<T>(packed.bits).low;
    } else {
      values[0] = packed;
    }
  }
  [[nodiscard]] __device__ static T pack(const Accumulator<T> (&values)[1]) {
    if constexpr (IsNarrow<T>) {
      return {static_cast<decltype(T::bits)>(narrow_pair<T>({values[0], 0.0F}))};
    } else {
      return values[0];
    }
  }
};

/// Elements aligned to their size.
template <class T>
struct Elements : Single<T> {
  static constexpr unsigned at_once = 4;
  [[nodiscard]] __device__ static T load(const std::byte* at) {
    return *reinterpret_cast<const T*>(at);
  }
  __device__ static void store(std::byte* at, T packed) { *reinterpret_cast<T*>(at) = packed; }
};

/// Elements anywhere.
template <class T>
struct Bytes : Single<T> {
  static constexpr unsigned at_once = 1;
  struct Parts {
    std::byte part[sizeof(T)];
  };
  [[nodiscard]] __device__ static T load(const std::byte* at) {
    Parts parts;
#pragma unroll
    for (unsigned i = 0; i < sizeof(T); ++i) parts.part[i] = at[i];
    return __builtin_bit_cast(T, parts);
  }
  __device__ static void store(std::byte* at, T packed) {
    const auto parts = __builtin_bit_cast(Parts, packed);
#pragma unroll
    for (unsigned i = 0; i < sizeof(T); ++i) at[i] = parts.part[i];
  }
};

}  // namespace ringside::cuda
