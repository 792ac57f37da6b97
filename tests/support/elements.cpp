// SPDX-License-Identifier: MIT
#include "ringside/tests/support/elements.hpp"

#include <bit>

namespace ringside::tests {
namespace {

/// Exponent bits and bias of a binary float with this many mantissa bits.
struct Format {
  int bytes, mantissa_bits, bias;
};

Format format_of(ElementType type) {
  switch (type) {
    case ElementType::float16:
      return {2, 10, 15};
    case ElementType::bfloat16:
      return {2, 7, 127};
    case ElementType::float8_e4m3:
      return {1, 3, 7};
    case ElementType::float8_e5m2:
      return {1, 2, 15};
    case ElementType::float32:
      return {4, 23, 127};
    default:
      return {8, 52, 1023};
  }
}

/// Sign and mantissa at random, exponent -1 or 0.
std::uint64_t random_float(const Format& format, std::uint64_t random) {
  const std::uint64_t mantissa = random & ((std::uint64_t{1} << format.mantissa_bits) - 1);
  const std::uint64_t exponent = static_cast<std::uint64_t>(format.bias) - (random >> 62 & 1);
  return (random >> 63) << (8 * format.bytes - 1) | exponent << format.mantissa_bits | mantissa;
}

bool is_nan(ElementType type, std::uint64_t bits) {
  if (!is_floating(type)) return false;
  if (type == ElementType::float8_e4m3) return (bits & 0x7fU) == 0x7fU;  // has no infinities
  const Format format = format_of(type);
  const int exponent_bits = 8 * format.bytes - 1 - format.mantissa_bits;
  const std::uint64_t all_ones = (std::uint64_t{1} << exponent_bits) - 1;
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << format.mantissa_bits) - 1);
  return (bits >> format.mantissa_bits & all_ones) == all_ones && mantissa != 0;
}

std::uint64_t load(const std::byte* data, std::size_t bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, data, bytes);
  return bits;
}

}  // namespace

void fill(ElementType type, std::uint64_t seed, std::size_t elements, std::byte* data) {
  const std::size_t bytes = size_of(type);
  for (std::size_t i = 0; i < elements; ++i) {
    std::uint64_t bits = mix(seed * 0x100000001ULL + i);
    if (is_floating(type)) bits = random_float(format_of(type), bits);
    std::memcpy(data + i * bytes, &bits, bytes);  // little endian, as everywhere we run
  }
}

void fill_any(ElementType type, std::uint64_t seed, std::size_t elements, std::byte* data) {
  const std::size_t bytes = size_of(type);
  for (std::size_t i = 0; i < elements; ++i) {
    const std::uint64_t bits = mix(seed * 0x100000001ULL + i);
    std::memcpy(data + i * bytes, &bits, bytes);
  }
}

int largest_exact(ElementType type) {
  constexpr int most = 127;  // int8
  if (!is_floating(type)) return most;
  const int bits = format_of(type).mantissa_bits + 1;
  return bits < 7 ? 1 << bits : most;
}

void store_exact(ElementType type, int value, std::byte* data) {
  auto bits = static_cast<std::uint64_t>(value);
  if (is_floating(type) && value > 0) {
    const Format format = format_of(type);
    const int exponent = static_cast<int>(std::bit_width(bits)) - 1;
    const std::uint64_t fraction = bits - (std::uint64_t{1} << exponent);
    bits = static_cast<std::uint64_t>(format.bias + exponent) << format.mantissa_bits;
    bits |= exponent <= format.mantissa_bits ? fraction << (format.mantissa_bits - exponent)
                                             : fraction >> (exponent - format.mantissa_bits);
  }
  std::memcpy(data, &bits, size_of(type));
}

std::size_t first_difference(ElementType type, const std::byte* a, const std::byte* b,
                             std::size_t elements) {
  const std::size_t bytes = size_of(type);
  if (elements == 0 || std::memcmp(a, b, elements * bytes) == 0) return elements;
  for (std::size_t i = 0; i < elements; ++i) {
    const auto x = load(a + i * bytes, bytes);
    const auto y = load(b + i * bytes, bytes);
    if (x == y) continue;
    if (is_nan(type, x) && is_nan(type, y)) continue;
    return i;
  }
  return elements;
}

}  // namespace ringside::tests
