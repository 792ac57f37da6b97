// SPDX-License-Identifier: MIT
#include "ringside/bench/inputs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "ringside/collectives/reduction/element.hpp"
#include "ringside/collectives/reduction/fold.hpp"

namespace ringside::bench {
namespace {

/// splitmix64 of the three: every bit of the result depends on every bit of each.
std::uint64_t hash(std::uint64_t seed, int rank, std::uint64_t index) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15U +
                    static_cast<std::uint64_t>(rank) * 0xd1342543de82ef95U +
                    index * 0xaf251af3b0f025b5U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// The bits of a number in a floating-point type.
std::uint64_t bits_in(ElementType type, double value) {
  switch (type) {
    case ElementType::float16:
      return isa_default::to_float16(static_cast<float>(value)).bits;
    case ElementType::bfloat16:
      return isa_default::to_bfloat16(static_cast<float>(value)).bits;
    case ElementType::float8_e4m3:
      return isa_default::to_float8_e4m3(static_cast<float>(value)).bits;
    case ElementType::float8_e5m2:
      return isa_default::to_float8_e5m2(static_cast<float>(value)).bits;
    case ElementType::float32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    default:
      return std::bit_cast<std::uint64_t>(value);
  }
}

/// Whole numbers up to this are exact in the type.
std::uint64_t exact_up_to(ElementType type) {
  switch (type) {
    case ElementType::float16:
      return std::uint64_t{1} << 11;
    case ElementType::bfloat16:
      return std::uint64_t{1} << 8;
    case ElementType::float8_e4m3:
      return std::uint64_t{1} << 4;
    case ElementType::float8_e5m2:
      return std::uint64_t{1} << 3;
    case ElementType::float32:
      return std::uint64_t{1} << 24;
    default:
      return std::uint64_t{1} << 53;
  }
}

/// True if this rank is among those, at most `most` of them, that get a say at this index.
bool has_a_say(std::uint64_t most, int ranks, int rank, std::uint64_t index) {
  const auto n = static_cast<std::uint64_t>(ranks);
  const std::uint64_t stride = (n + most - 1) / most;
  return (static_cast<std::uint64_t>(rank) + index) % stride == 0;
}

double exact_number(ElementType type, ReduceOp op, int ranks, std::uint64_t bits, int rank,
                    std::uint64_t index) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg:
    case ReduceOp::premul_sum: {
      const auto scale =
          op == ReduceOp::premul_sum ? static_cast<std::uint64_t>(checked_scalar) : 1U;
      // Of the sum of what is contributed. Half for an average: rounding the quotient must not hide
      // that one of the contributions is missing.
      const std::uint64_t most = exact_up_to(type) / scale / (op == ReduceOp::avg ? 2U : 1U);
      const std::uint64_t share = most / static_cast<std::uint64_t>(ranks);
      if (share > 0) return static_cast<double>(bits % (share + 1));
      return has_a_say(most, ranks, rank, index) ? 1.0 : 0.0;
    }
    case ReduceOp::prod: {
      // At most 8 factors other than +-1 keep every partial product within 2^-8 to 2^8.
      const double sign = bits & 1U ? -1.0 : 1.0;
      if (!has_a_say(8, ranks, rank, index)) return sign;
      return sign * (bits & 2U ? 2.0 : bits & 4U ? 0.5 : 1.0);
    }
    case ReduceOp::max:
    case ReduceOp::min: {
      const double magnitude = 1.0 + static_cast<double>((bits >> 1) % exact_up_to(type));
      return bits & 1U ? -magnitude : magnitude;
    }
  }
  return 0.0;
}

double rounding_number(ElementType type, ReduceOp op, std::uint64_t bits) {
  const double fraction = static_cast<double>(bits >> 11) * 0x1p-53;  // in [0, 1)
  // Factors near 1, so that the product of many stays in range; 8-bit floats have few near 1.
  if (op == ReduceOp::prod)
    return size_of(type) == 1 ? 0.625 + 0.875 * fraction : 0.875 + 0.25 * fraction;
  const double magnitude = std::ldexp(1.0 + fraction, static_cast<int>((bits >> 1) & 3U) - 2);
  return bits & 1U ? -magnitude : magnitude;
}

/// Writes elements of `bytes` bytes whose bits `bits_at(index)` gives.
template <class BitsAt>
void write(std::byte* to, std::size_t elements, std::size_t bytes, BitsAt bits_at) {
  static_assert(std::endian::native == std::endian::little);
  for (std::size_t i = 0; i < elements; ++i) {
    const std::uint64_t bits = bits_at(i);
    std::memcpy(to + i * bytes, &bits, bytes);
  }
}

/// Compares a buffer with repetitions of `pattern` (one period, or the whole buffer if shorter),
/// from its element `at`.
std::uint64_t differing(const std::byte* data, std::size_t elements, std::size_t bytes,
                        const std::vector<std::byte>& pattern, std::size_t at = 0) {
  const std::size_t length = pattern.size() / bytes;
  std::uint64_t different = 0;
  for (std::size_t first = 0; first < elements;) {
    const std::size_t run = std::min(length - at, elements - first);
    different += count_different(data + first * bytes, pattern.data() + at * bytes, run, bytes);
    first += run;
    at = 0;
  }
  return different;
}

/// Fills a buffer with repetitions of `pattern`.
void repeat(std::byte* to, std::size_t bytes, const std::vector<std::byte>& pattern) {
  for (std::size_t done = 0; done < bytes; done += pattern.size())
    std::memcpy(to + done, pattern.data(), std::min(pattern.size(), bytes - done));
}

/// One period of a block that is only copied.
std::vector<std::byte> block_row(ElementType type, std::uint64_t seed, int block,
                                 std::size_t elements) {
  const std::size_t bytes = size_of(type);
  std::vector<std::byte> row(std::min(elements, ExactInputs::period) * bytes);
  write(row.data(), row.size() / bytes, bytes, [&](std::size_t i) { return hash(seed, block, i); });
  return row;
}

}  // namespace

std::uint64_t exact_element(ElementType type, ReduceOp op, int ranks, std::uint64_t seed, int rank,
                            std::uint64_t index) {
  const std::uint64_t bits = hash(seed, rank, index);
  if (is_floating(type)) return bits_in(type, exact_number(type, op, ranks, bits, rank, index));
  return op == ReduceOp::prod ? bits | 1U : bits;
}

ExactInputs::ExactInputs(ElementType type, ReduceOp op, int ranks, std::uint64_t seed)
    : type_(type), op_(op), ranks_(ranks), seed_(seed), result_(period * size_of(type)) {
  // The result is exact, so one fold of all contributions is what any plan must give. In runs, so
  // that a thousand ranks do not need a thousand rows at a time.
  constexpr std::size_t run = 512;
  for (std::size_t first = 0; first < period; first += run) {
    const std::size_t elements = std::min(run, period - first);
    std::vector<std::vector<std::byte>> rows;
    std::vector<const std::byte*> sources;
    for (int rank = 0; rank < ranks; ++rank) rows.push_back(row(rank, first, elements));
    for (const auto& one : rows) sources.push_back(one.data());
    std::byte* const destination = result_.data() + first * size_of(type);
    reference_fold({.sources = sources,
                    .destinations = {&destination, 1},
                    .elements = elements,
                    .type = type,
                    .op = op,
                    .all_raw = true,
                    .scalar = checked_scalar,
                    .completes = true,
                    .ranks = ranks});
  }
}

std::vector<std::byte> ExactInputs::row(int rank, std::size_t first, std::size_t elements) const {
  const std::size_t bytes = size_of(type_);
  std::vector<std::byte> row(elements * bytes);
  write(row.data(), elements, bytes,
        [&](std::size_t i) { return exact_element(type_, op_, ranks_, seed_, rank, first + i); });
  return row;
}

void ExactInputs::fill(int rank, std::byte* to, std::size_t elements) const {
  repeat(to, elements * size_of(type_), row(rank, 0, std::min(elements, period)));
}

std::uint64_t ExactInputs::wrong(const std::byte* output, std::size_t elements,
                                 std::size_t first) const {
  return differing(output, elements, size_of(type_), result_, first % period);
}

std::uint64_t ExactInputs::changed(int rank, const std::byte* input, std::size_t elements) const {
  if (elements == 0) return 0;
  return differing(input, elements, size_of(type_), row(rank, 0, std::min(elements, period)));
}

std::uint64_t bits_of_one(ElementType type) { return is_floating(type) ? bits_in(type, 1.0) : 1; }

void fill_block(ElementType type, std::uint64_t seed, int block, std::byte* to,
                std::size_t elements) {
  repeat(to, elements * size_of(type), block_row(type, seed, block, elements));
}

std::uint64_t wrong_in_block(ElementType type, std::uint64_t seed, int block, const std::byte* data,
                             std::size_t elements) {
  if (elements == 0) return 0;
  return differing(data, elements, size_of(type), block_row(type, seed, block, elements));
}

void fill_rounding(ElementType type, ReduceOp op, std::uint64_t seed, int rank, std::byte* to,
                   std::size_t elements) {
  const bool floating = is_floating(type);
  write(to, elements, size_of(type), [&](std::size_t i) {
    const std::uint64_t bits = hash(seed, rank, i);
    return floating ? bits_in(type, rounding_number(type, op, bits)) : bits;
  });
}

std::uint64_t count_different(const std::byte* a, const std::byte* b, std::size_t elements,
                              std::size_t bytes) {
  if (elements == 0 || std::memcmp(a, b, elements * bytes) == 0) return 0;
  std::uint64_t different = 0;
  for (std::size_t i = 0; i < elements; ++i)
    different += std::memcmp(a + i * bytes, b + i * bytes, bytes) != 0 ? 1U : 0U;
  return different;
}

}  // namespace ringside::bench
