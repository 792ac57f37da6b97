// SPDX-License-Identifier: MIT
/// The checksum of a run of bytes, the same on the host and on devices.
///
/// A sum over the run's words of 8 bytes, little-endian, the last one filled up with zeros:
///
///     x_i = w_i xor (w_i >> 32),   sum = sum over i of x_i (2 i + 1) c  modulo 2^64,  c odd
///
/// The terms can be added up in any order, by many threads. x_i is a bijection of w_i and its
/// factor is odd, so whatever changes within one word is always noticed. Of two words that change,
/// x makes that the lower halves change, so that the factors, which differ from word to word, tell
/// them apart; changes of many words cancel each other with a chance of about 2^-32 (multilinear
/// hashing: Thorup, "High speed hashing for integers and strings", 2015). It is no protection
/// against somebody who means to deceive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ringside {

inline constexpr std::size_t checksum_word_bytes = 8;
/// 2^64 divided by the golden ratio, odd: bits without a pattern.
inline constexpr std::uint64_t checksum_factor = 0x9e3779b97f4a7c15ULL;

/// What word number `index` adds.
[[nodiscard]] constexpr std::uint64_t checksum_term(std::uint64_t word, std::uint64_t index) {
  return (word ^ (word >> 32)) * ((2 * index + 1) * checksum_factor);
}

/// Of `bytes` bytes at any address.
[[nodiscard]] std::uint64_t checksum_of(const std::byte* data, std::size_t bytes);
/// The same by the kernels of this name (available_fold_isas). Throws Error(unsupported).
[[nodiscard]] std::uint64_t checksum_with(std::string_view isa, const std::byte* data,
                                          std::size_t bytes);

}  // namespace ringside
