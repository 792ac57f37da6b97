// SPDX-License-Identifier: MIT
/// What a checked copy carries, and the verdict over what has arrived: pure functions of bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ringside::bench::preflight {

/// Before and after the payload of a checked copy: what lands there landed in the wrong place.
inline constexpr std::size_t guard_bytes = 4096;

/// Tags stand below this.
inline constexpr std::uint32_t most_tags = 1U << 16;

/// A sequence of 64-bit words of which each tells its place and whose it is: the tag and the index
/// in 16 and 48 bits, mixed by a bijection so that near words differ in half of their bits.
class Pattern {
 public:
  explicit constexpr Pattern(std::uint32_t tag) : tag_(tag) {}

  [[nodiscard]] std::uint64_t word(std::uint64_t index) const;
  [[nodiscard]] std::uint32_t tag() const { return tag_; }

  /// Writes words 0, 1, ... `bytes` has a multiple of 8.
  void fill(std::span<std::byte> bytes) const;

 private:
  std::uint32_t tag_;
};

/// Whose a word is, if a pattern wrote it.
struct Origin {
  std::uint32_t tag = 0;
  std::uint64_t index = 0;
};

/// The inverse of Pattern::word. Rubbish has an origin too, with an index beyond any buffer but for
/// one word in millions.
[[nodiscard]] Origin origin_of(std::uint64_t word);

enum class Arrival {
  right,
  lost,         ///< nothing was written: all is as it was before
  partly_lost,  ///< some words are as before, the others right
  offset,       ///< written, `offset_bytes` too far
  misplaced,    ///< what another copy carried (`foreign_tag`)
  overrun,      ///< the payload is right, but something was written beside it
  corrupt,      ///< wrong in another way
};

inline constexpr std::array all_arrivals = {
    Arrival::right,     Arrival::lost,    Arrival::partly_lost, Arrival::offset,
    Arrival::misplaced, Arrival::overrun, Arrival::corrupt};
/// "right", "lost", "partly_lost", ...
[[nodiscard]] std::string_view to_string(Arrival arrival);

struct Verdict {
  Arrival arrival = Arrival::right;
  std::uint64_t bytes = 0;              ///< of the payload
  std::uint64_t wrong_words = 0;        ///< 64-bit words of the payload that are not as sent
  std::uint64_t wrong_guard_words = 0;  ///< and those beside it that are not as before
  std::int64_t first_wrong_byte = 0;    ///< from the payload's begin, of the first wrong word
  std::int64_t offset_bytes = 0;
  std::uint32_t foreign_tag = 0;
  int flipped_bits = 0;  ///< of a single wrong word; else 0

  bool operator==(const Verdict&) const = default;
};

/// Judges a destination: a guard, the payload (a multiple of 8 bytes, at least one word) and a
/// guard again. Before the copy all of it held `background` (from its first byte on); the payload
/// should now be `sent` (from word 0 on).
[[nodiscard]] Verdict judge(std::span<const std::byte> region, Pattern sent, Pattern background);

/// For people, a sentence fragment: "the data landed 256 bytes too far".
[[nodiscard]] std::string describe(const Verdict& verdict);

}  // namespace ringside::bench::preflight
