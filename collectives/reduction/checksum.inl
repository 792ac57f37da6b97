// SPDX-License-Identifier: MIT
/// The long part of a checksum (checksum.hpp), in the terms of kernels.inl.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ringside/collectives/reduction/kernels.hpp"

namespace ringside::RINGSIDE_ISA_NAMESPACE {

/// Adds what processors add several at once, and multiplies only in the end: of the words 8 t + j,
/// `plain[j]` is the sum of all x, and `before[j]` that of all its earlier values, which has x_t
/// once for every later round, rounds - 1 - t times.
std::uint64_t checksum_of_blocks(const std::byte* data, std::size_t blocks) {
  using Lanes [[gnu::vector_size(checksum_block_bytes)]] = std::uint64_t;
  constexpr std::size_t lanes = sizeof(Lanes) / sizeof(std::uint64_t);
  Lanes plain{};
  Lanes before{};
  for (std::size_t t = 0; t < blocks; ++t) {
    Lanes words;
    __builtin_memcpy(&words, data + t * sizeof(Lanes), sizeof(Lanes));
    before += plain;
    plain += words ^ (words >> 32);
  }
  std::uint64_t sum = 0;  // of x_i (2 i + 1)
  for (std::size_t j = 0; j < lanes; ++j)
    sum += plain[j] * (2 * (lanes * (blocks - 1) + j) + 1) - before[j] * 2 * lanes;
  return sum;
}

}  // namespace ringside::RINGSIDE_ISA_NAMESPACE
