// SPDX-License-Identifier: MIT
/// Elements for tests of folds: ordinary numbers mixed with everything that is special in a type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ringside/collectives/reduction/types.hpp"

namespace ringside::testing {

/// A small fixed generator (splitmix64), so that cases do not depend on the standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

/// Field widths of a floating-point type.
struct Layout {
  int exponent_bits;
  int fraction_bits;
};

inline Layout layout_of(ElementType type) {
  switch (type) {
    case ElementType::float16:
      return {5, 10};
    case ElementType::bfloat16:
      return {8, 7};
    case ElementType::float8_e4m3:
      return {4, 3};
    case ElementType::float8_e5m2:
      return {5, 2};
    case ElementType::float32:
      return {8, 23};
    default:
      return {11, 52};
  }
}

inline bool is_nan(ElementType type, std::uint64_t bits) {
  if (!is_floating(type)) return false;
  if (type == ElementType::float8_e4m3) return (bits & 0x7fU) == 0x7fU;
  const Layout layout = layout_of(type);
  const std::uint64_t infinity = ((std::uint64_t{1} << layout.exponent_bits) - 1)
                                 << layout.fraction_bits;
  const std::uint64_t sign = std::uint64_t{1} << (layout.exponent_bits + layout.fraction_bits);
  return (bits & (sign - 1)) > infinity;
}

/// Bits of one element. Floats: a quarter special (zeros, infinities, NaNs quiet and signalling,
/// subnormals, extremes; E4M3 has no infinities: large numbers instead), half near 1 so that sums
/// round, the rest any bits. Integers: a quarter
/// extremes, the rest any bits.
inline std::uint64_t sample_bits(ElementType type, Random& random) {
  const std::uint64_t kind = random() % 8;
  const std::uint64_t any = random();
  const int width = static_cast<int>(size_of(type)) * 8;
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  if (!is_floating(type)) {
    if (kind >= 2) return any;
    const std::uint64_t extremes[] = {0, 1, ~std::uint64_t{0}, sign, sign - 1, 2};
    return extremes[any % 6];
  }
  const Layout layout = layout_of(type);
  const std::uint64_t fraction = (std::uint64_t{1} << layout.fraction_bits) - 1;
  const std::uint64_t infinity = (sign - 1) & ~fraction;
  const std::uint64_t one = infinity & (infinity >> 1);  // the exponent's lower bits: 1.0
  const std::uint64_t signs = (any >> 1) & sign;
  if (kind < 2) {
    const std::uint64_t specials[] = {0,
                                      0,
                                      infinity,
                                      infinity | (fraction ^ (fraction >> 1)),  // quiet NaN
                                      infinity | 1,                             // signalling NaN
                                      1,
                                      fraction,      // largest subnormal
                                      fraction + 1,  // smallest normal
                                      infinity - 1,
                                      sign - 1,   // all ones: a NaN, and E4M3's only one
                                      sign - 2};  // E4M3: its largest
    return signs | specials[(any & 0xffff) % 11];
  }
  if (kind < 6) return signs | (one + ((any & 3) << layout.fraction_bits)) | (any & fraction);
  return any;
}

inline std::vector<std::byte> samples(ElementType type, std::size_t elements, std::uint64_t seed) {
  const std::size_t width = size_of(type);
  std::vector<std::byte> result(elements * width);
  Random random(seed);
  for (std::size_t i = 0; i < elements; ++i) {
    const std::uint64_t bits = sample_bits(type, random);
    std::memcpy(result.data() + i * width, &bits, width);
  }
  return result;
}

/// The first of n elements that differs, NaNs being all alike; n if none does.
inline std::size_t first_difference(ElementType type, const std::byte* a, const std::byte* b,
                                    std::size_t n) {
  const std::size_t width = size_of(type);
  if (n == 0 || std::memcmp(a, b, n * width) == 0) return n;
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t left = 0;
    std::uint64_t right = 0;
    std::memcpy(&left, a + i * width, width);
    std::memcpy(&right, b + i * width, width);
    if (left != right && !(is_nan(type, left) && is_nan(type, right))) return i;
  }
  return n;
}

}  // namespace ringside::testing
