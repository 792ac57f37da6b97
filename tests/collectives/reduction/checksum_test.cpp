// SPDX-License-Identifier: MIT
/// The checksum of a run of bytes: by every build of the kernels what its formula says, and another
/// one as soon as a bit flips.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "ringside/collectives/reduction/checksum.hpp"
#include "ringside/collectives/reduction/fold.hpp"

namespace ringside::tests {
namespace {

std::vector<std::byte> some_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 37 + 11);
  return bytes;
}

TEST(Checksum, OfEveryBitThatFlipsIsAnother) {
  for (std::size_t count = 1; count <= 40; ++count) {
    auto bytes = some_bytes(count);
    const std::uint64_t before = checksum_of(bytes.data(), count);
    for (std::size_t bit = 0; bit < 8 * count; ++bit) {
      const std::byte flip = std::byte{1} << (bit % 8);
      bytes[bit / 8] ^= flip;
      EXPECT_NE(checksum_of(bytes.data(), count), before) << count << " bytes, bit " << bit;
      bytes[bit / 8] ^= flip;
    }
  }
}

TEST(Checksum, OfTwoBitsThatFlipIsAnother) {
  // Also of the uppermost ones, where multiplication loses the most.
  auto bytes = some_bytes(80);
  const std::uint64_t before = checksum_of(bytes.data(), bytes.size());
  for (std::size_t one = 0; one < 8 * bytes.size(); ++one)
    for (std::size_t other = 0; other < one; ++other) {
      for (const std::size_t bit : {one, other}) bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      ASSERT_NE(checksum_of(bytes.data(), bytes.size()), before) << one << ", " << other;
      for (const std::size_t bit : {one, other}) bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
}

TEST(Checksum, TellsWordsThatChangedPlacesAndIsTheSameAtAnyAddress) {
  const auto bytes = some_bytes(64);
  auto changed = bytes;
  std::swap_ranges(changed.begin(), changed.begin() + 8, changed.begin() + 48);
  EXPECT_NE(checksum_of(changed.data(), 64), checksum_of(bytes.data(), 64));
  std::vector<std::byte> room(80);
  for (std::size_t offset = 0; offset < 8; ++offset) {
    std::memcpy(room.data() + offset, bytes.data(), 61);
    EXPECT_EQ(checksum_of(room.data() + offset, 61), checksum_of(bytes.data(), 61));
  }
}

/// As the formula is written.
std::uint64_t sum_of_terms(const std::byte* data, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < bytes; at += checksum_word_bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, std::min(bytes - at, checksum_word_bytes));
    sum += checksum_term(word, at / checksum_word_bytes);
  }
  return sum;
}

TEST(Checksum, IsByEveryBuildTheFormulas) {
  const auto bytes = some_bytes(1500);
  for (const auto isa : available_fold_isas())
    for (const std::size_t offset : {0, 1, 7})
      for (std::size_t count = 0; count + offset <= bytes.size(); ++count)
        ASSERT_EQ(checksum_with(isa, bytes.data() + offset, count),
                  sum_of_terms(bytes.data() + offset, count))
            << isa << ", " << count << " bytes from " << offset;
}

}  // namespace
}  // namespace ringside::tests
