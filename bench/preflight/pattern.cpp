// SPDX-License-Identifier: MIT
#include "ringside/bench/preflight/pattern.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "ringside/base/text.hpp"

namespace ringside::bench::preflight {
namespace {

constexpr int index_bits = 48;
constexpr std::uint64_t index_mask = (std::uint64_t{1} << index_bits) - 1;
constexpr std::size_t word_bytes = sizeof(std::uint64_t);

/// The inverse of an odd number modulo 2^64: each Newton step doubles the bits that are right, of
/// which every odd number has three.
constexpr std::uint64_t inverse(std::uint64_t odd) {
  std::uint64_t x = odd;
  for (int right = 3; right < 64; right *= 2) x *= 2 - odd * x;
  return x;
}

/// The finalizer of splitmix64 (Steele, Lea, Flood, OOPSLA 2014), which is a bijection.
constexpr std::uint64_t factor_1 = 0xbf58476d1ce4e5b9U;
constexpr std::uint64_t factor_2 = 0x94d049bb133111ebU;

constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * factor_1;
  z = (z ^ (z >> 27)) * factor_2;
  return z ^ (z >> 31);
}

constexpr std::uint64_t unmix(std::uint64_t z) {
  z = (z ^ (z >> 31) ^ (z >> 62)) * inverse(factor_2);
  z = (z ^ (z >> 27) ^ (z >> 54)) * inverse(factor_1);
  return z ^ (z >> 30) ^ (z >> 60);
}
static_assert(unmix(mix(0x0123456789abcdefU)) == 0x0123456789abcdefU);

std::uint64_t load(const std::byte* address) {
  std::uint64_t word;
  std::memcpy(&word, address, sizeof word);
  return word;
}

/// A destination and what it should hold.
struct Destination {
  std::span<const std::byte> region;
  Pattern sent, background;

  [[nodiscard]] std::size_t payload_bytes() const { return region.size() - 2 * guard_bytes; }
  [[nodiscard]] std::size_t words() const { return payload_bytes() / word_bytes; }
  [[nodiscard]] std::uint64_t at(std::size_t byte) const { return load(region.data() + byte); }
  /// Word i of the payload as it is, as it was before, as it should be.
  [[nodiscard]] std::uint64_t payload(std::size_t i) const {
    return at(guard_bytes + i * word_bytes);
  }
  [[nodiscard]] std::uint64_t before(std::size_t i) const {
    return background.word(guard_bytes / word_bytes + i);
  }
};

/// What differs, counted.
struct Differences {
  Verdict verdict;
  std::uint64_t stale_words = 0;  ///< of the payload
  std::optional<std::size_t> first_wrong_word;
};

/// The wrong words of a guard; `place` is where its first byte lies, from the payload's begin.
void count_guard(const Destination& to, std::size_t begin, std::int64_t place, Differences& found) {
  for (std::size_t byte = 0; byte < guard_bytes; byte += word_bytes) {
    if (to.at(begin + byte) == to.background.word((begin + byte) / word_bytes)) continue;
    if (found.verdict.wrong_words + found.verdict.wrong_guard_words == 0)
      found.verdict.first_wrong_byte = place + static_cast<std::int64_t>(byte);
    ++found.verdict.wrong_guard_words;
  }
}

Differences differences(const Destination& to) {
  Differences found;
  found.verdict.bytes = to.payload_bytes();
  count_guard(to, 0, -static_cast<std::int64_t>(guard_bytes), found);
  for (std::size_t i = 0; i < to.words(); ++i) {
    const auto word = to.payload(i);
    if (word == to.sent.word(i)) continue;
    if (!found.first_wrong_word) found.first_wrong_word = i;
    if (found.verdict.wrong_words + found.verdict.wrong_guard_words == 0)
      found.verdict.first_wrong_byte = static_cast<std::int64_t>(i * word_bytes);
    ++found.verdict.wrong_words;
    found.stale_words += word == to.before(i) ? 1 : 0;
  }
  count_guard(to, guard_bytes + to.payload_bytes(), static_cast<std::int64_t>(to.payload_bytes()),
              found);
  return found;
}

/// Whether most of the sent words that a shift leaves within the region lie there.
bool shifted_by(const Destination& to, std::int64_t shift) {
  std::size_t inside = 0, there = 0;
  const auto last = static_cast<std::int64_t>(to.region.size() - word_bytes);
  for (std::size_t i = 0; i < to.words(); ++i) {
    const auto byte = static_cast<std::int64_t>(guard_bytes + i * word_bytes) + shift;
    if (byte < 0 || byte > last) continue;
    ++inside;
    there += to.at(static_cast<std::size_t>(byte)) == to.sent.word(i) ? 1 : 0;
  }
  return there > inside / 2;
}

/// By how many bytes the payload lies beside its place, if it does.
std::optional<std::int64_t> shift_of(const Destination& to) {
  for (std::size_t byte = 0; byte + word_bytes <= to.region.size(); ++byte) {
    const auto origin = origin_of(to.at(byte));
    if (origin.tag != to.sent.tag() || origin.index >= to.words()) continue;
    const auto shift = static_cast<std::int64_t>(byte) -
                       static_cast<std::int64_t>(guard_bytes + origin.index * word_bytes);
    if (shift == 0) continue;
    return shifted_by(to, shift) ? std::optional(shift) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t Pattern::word(std::uint64_t index) const {
  return mix((std::uint64_t{tag_} << index_bits) | (index & index_mask));
}

void Pattern::fill(std::span<std::byte> bytes) const {
  for (std::size_t i = 0; i < bytes.size() / word_bytes; ++i) {
    const auto value = word(i);
    std::memcpy(bytes.data() + i * word_bytes, &value, sizeof value);
  }
}

Origin origin_of(std::uint64_t word) {
  const auto plain = unmix(word);
  return {static_cast<std::uint32_t>(plain >> index_bits), plain & index_mask};
}

std::string_view to_string(Arrival arrival) {
  switch (arrival) {
    case Arrival::right:
      return "right";
    case Arrival::lost:
      return "lost";
    case Arrival::partly_lost:
      return "partly_lost";
    case Arrival::offset:
      return "offset";
    case Arrival::misplaced:
      return "misplaced";
    case Arrival::overrun:
      return "overrun";
    case Arrival::corrupt:
      return "corrupt";
  }
  return "?";
}

Verdict judge(std::span<const std::byte> region, Pattern sent, Pattern background) {
  const Destination to{region, sent, background};
  auto found = differences(to);
  auto& verdict = found.verdict;
  if (verdict.wrong_words + verdict.wrong_guard_words == 0) return verdict;
  if (const auto shift = shift_of(to)) {
    verdict.arrival = Arrival::offset;
    verdict.offset_bytes = *shift;
    return verdict;
  }
  if (verdict.wrong_words == 0) {
    verdict.arrival = Arrival::overrun;
    return verdict;
  }
  if (found.stale_words == verdict.wrong_words) {
    verdict.arrival = found.stale_words == to.words() ? Arrival::lost : Arrival::partly_lost;
    return verdict;
  }
  const auto first = *found.first_wrong_word;
  const auto origin = origin_of(to.payload(first));
  if (origin.index < to.region.size() / word_bytes && origin.tag != sent.tag() &&
      origin.tag != background.tag()) {
    verdict.arrival = Arrival::misplaced;
    verdict.foreign_tag = origin.tag;
    return verdict;
  }
  verdict.arrival = Arrival::corrupt;
  if (verdict.wrong_words == 1)
    verdict.flipped_bits = std::popcount(to.payload(first) ^ sent.word(first));
  return verdict;
}

std::string describe(const Verdict& verdict) {
  const auto payload = format_bytes(verdict.bytes);
  const auto words = verdict.bytes / word_bytes;
  switch (verdict.arrival) {
    case Arrival::right:
      return fmt::format("{} arrived as sent", payload);
    case Arrival::lost:
      return fmt::format("the data never arrived: all {} are what they were before", payload);
    case Arrival::partly_lost:
      return fmt::format("{} of {} words never arrived, from byte {} on", verdict.wrong_words,
                         words, verdict.first_wrong_byte);
    case Arrival::offset:
      return fmt::format("the data landed {} bytes too {} ({})", std::abs(verdict.offset_bytes),
                         verdict.offset_bytes > 0 ? "far" : "early", payload);
    case Arrival::misplaced:
      return fmt::format("data of another copy arrived: {} of {} words, from byte {} on",
                         verdict.wrong_words, words, verdict.first_wrong_byte);
    case Arrival::overrun:
      return fmt::format(
          "{} arrived as sent, but {} words beside it were overwritten, from byte {} on", payload,
          verdict.wrong_guard_words, verdict.first_wrong_byte);
    case Arrival::corrupt:
      return fmt::format("{} of {} words are wrong{}, from byte {} on", verdict.wrong_words, words,
                         verdict.flipped_bits > 0
                             ? fmt::format(" ({} flipped bit{})", verdict.flipped_bits,
                                           verdict.flipped_bits == 1 ? "" : "s")
                             : "",
                         verdict.first_wrong_byte);
  }
  return {};
}

}  // namespace ringside::bench::preflight
