// SPDX-License-Identifier: MIT
/// Test data of any element type, and comparing results bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ringside/collectives/reduction/types.hpp"

namespace ringside::tests {

/// SplitMix64: a stateless hash of a counter, good enough for test data.
/// (G. Steele, D. Lea, C. Flood: Fast splittable pseudorandom number generators, OOPSLA 2014.)
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Full-mantissa numbers between 0.5 and 2 in magnitude (integers: any bits), so that sums round
/// and the order of additions shows.
void fill(ElementType type, std::uint64_t seed, std::size_t elements, std::byte* data);

/// Any bits at all: also NaNs, infinities, subnormals and numbers that overflow when added.
void fill_any(ElementType type, std::uint64_t seed, std::size_t elements, std::byte* data);

/// The greatest number, at most 127, up to which every whole number has exact bits in the type.
[[nodiscard]] int largest_exact(ElementType type);

/// Stores a whole number from 0 to largest_exact(type).
void store_exact(ElementType type, int value, std::byte* data);

/// Index of the first element that differs, or `elements`. Any two NaNs are equal.
[[nodiscard]] std::size_t first_difference(ElementType type, const std::byte* a, const std::byte* b,
                                           std::size_t elements);

}  // namespace ringside::tests
