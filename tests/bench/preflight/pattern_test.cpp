// SPDX-License-Identifier: MIT
/// The judge of checked copies: what can go wrong is recognised for what it is.
#include "ringside/bench/preflight/pattern.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace ringside::tests {
namespace {

using namespace bench::preflight;

constexpr Pattern sent{7}, background{3}, other{9};

/// A destination as it is before the copy.
class Region {
 public:
  explicit Region(std::size_t payload) : bytes_(payload + 2 * guard_bytes), payload_(payload) {
    background.fill(bytes_);
  }
  /// What a copy does that lands `offset` bytes too far.
  Region& copy(Pattern pattern, std::int64_t offset = 0) {
    std::vector<std::byte> data(payload_);
    pattern.fill(data);
    for (std::size_t i = 0; i < payload_; ++i) {
      const auto place = static_cast<std::int64_t>(guard_bytes + i) + offset;
      if (place >= 0 && place < static_cast<std::int64_t>(bytes_.size()))
        bytes_[static_cast<std::size_t>(place)] = data[i];
    }
    return *this;
  }
  Region& flip(std::size_t payload_byte, unsigned bits) {
    bytes_[guard_bytes + payload_byte] ^= static_cast<std::byte>(bits);
    return *this;
  }
  /// Part of the payload as it was before.
  Region& undo(std::size_t begin, std::size_t end) {
    const Region before(payload_);
    std::copy(before.bytes_.begin() + static_cast<std::ptrdiff_t>(guard_bytes + begin),
              before.bytes_.begin() + static_cast<std::ptrdiff_t>(guard_bytes + end),
              bytes_.begin() + static_cast<std::ptrdiff_t>(guard_bytes + begin));
    return *this;
  }
  Region& overwrite(std::size_t region_byte) {
    bytes_[region_byte] = ~bytes_[region_byte];
    return *this;
  }
  [[nodiscard]] Verdict judged() const { return judge(bytes_, sent, background); }

 private:
  std::vector<std::byte> bytes_;
  std::size_t payload_;
};

TEST(PreflightPattern, EveryWordTellsItsTagAndItsIndex) {
  for (const std::uint32_t tag : {0U, 1U, 4711U, most_tags - 1})
    for (const std::uint64_t index : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 40}) {
      const auto origin = origin_of(Pattern(tag).word(index));
      EXPECT_EQ(origin.tag, tag);
      EXPECT_EQ(origin.index, index);
    }
}

TEST(PreflightPattern, WhatArrivedAsSentIsRight) {
  for (const std::size_t payload : {8U, 4096U, 65536U}) {
    const auto verdict = Region(payload).copy(sent).judged();
    EXPECT_EQ(verdict.arrival, Arrival::right);
    EXPECT_EQ(verdict.wrong_words, 0U);
    EXPECT_EQ(verdict.bytes, payload);
  }
}

TEST(PreflightPattern, WhatNeverArrivedIsLost) {
  for (const std::size_t payload : {8U, 4096U}) {
    const auto verdict = Region(payload).judged();
    EXPECT_EQ(verdict.arrival, Arrival::lost);
    EXPECT_EQ(verdict.wrong_words, payload / 8);
  }
}

TEST(PreflightPattern, ALandingBesideItsPlaceIsAnOffsetOfSoManyBytes) {
  for (const std::int64_t offset : {256, -256, 8, -8, 1, -3, 4088, -4096, 13})
    for (const std::size_t payload : {64U, 4096U, 65536U}) {
      const auto verdict = Region(payload).copy(sent, offset).judged();
      EXPECT_EQ(verdict.arrival, Arrival::offset) << offset << " of " << payload;
      EXPECT_EQ(verdict.offset_bytes, offset);
    }
}

TEST(PreflightPattern, AnOffsetBeyondTheGuardIsSeenWhereThePayloadReachesBackInto) {
  const auto verdict = Region(65536).copy(sent, 3 * 4096).judged();
  EXPECT_EQ(verdict.arrival, Arrival::offset);
  EXPECT_EQ(verdict.offset_bytes, 3 * 4096);
  EXPECT_EQ(Region(64).copy(sent, 1 << 20).judged().arrival, Arrival::lost) << "out of sight";
}

TEST(PreflightPattern, APartThatNeverArrivedIsPartlyLost) {
  const auto verdict = Region(4096).copy(sent).undo(1024, 2048).judged();
  EXPECT_EQ(verdict.arrival, Arrival::partly_lost);
  EXPECT_EQ(verdict.wrong_words, 128U);
  EXPECT_EQ(verdict.first_wrong_byte, 1024);
}

TEST(PreflightPattern, AFlippedBitIsCorruptAndCounted) {
  const auto verdict = Region(4096).copy(sent).flip(803, 0x10).judged();
  EXPECT_EQ(verdict.arrival, Arrival::corrupt);
  EXPECT_EQ(verdict.wrong_words, 1U);
  EXPECT_EQ(verdict.first_wrong_byte, 800);
  EXPECT_EQ(verdict.flipped_bits, 1);
  const auto several = Region(4096).copy(sent).flip(0, 3).flip(4095, 1).judged();
  EXPECT_EQ(several.arrival, Arrival::corrupt);
  EXPECT_EQ(several.wrong_words, 2U);
  EXPECT_EQ(several.flipped_bits, 0);
}

TEST(PreflightPattern, WhatAnotherCopyCarriedIsNamed) {
  const auto verdict = Region(4096).copy(other).judged();
  EXPECT_EQ(verdict.arrival, Arrival::misplaced);
  EXPECT_EQ(verdict.foreign_tag, other.tag());
}

TEST(PreflightPattern, WritingBesideARightPayloadIsAnOverrun) {
  for (const std::size_t place : {std::size_t{0}, guard_bytes - 1, guard_bytes + 4096}) {
    const auto verdict = Region(4096).copy(sent).overwrite(place).judged();
    EXPECT_EQ(verdict.arrival, Arrival::overrun) << place;
    EXPECT_EQ(verdict.wrong_words, 0U);
    EXPECT_EQ(verdict.wrong_guard_words, 1U);
  }
}

TEST(PreflightPattern, AVerdictIsASentence) {
  EXPECT_EQ(describe(Region(4096).copy(sent, 256).judged()),
            "the data landed 256 bytes too far (4 KiB)");
  EXPECT_EQ(describe(Region(4096).copy(sent, -8).judged()),
            "the data landed 8 bytes too early (4 KiB)");
  EXPECT_EQ(describe(Region(4096).judged()),
            "the data never arrived: all 4 KiB are what they were before");
  EXPECT_EQ(describe(Region(4096).copy(sent).flip(803, 0x10).judged()),
            "1 of 512 words are wrong (1 flipped bit), from byte 800 on");
}

}  // namespace
}  // namespace ringside::tests
