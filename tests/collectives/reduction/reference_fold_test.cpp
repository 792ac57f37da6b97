// SPDX-License-Identifier: MIT
/// The reference fold against a definition made by other means (independent.hpp).
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "independent.hpp"
#include "ringside/collectives/reduction/fold.hpp"
#include "samples.hpp"

namespace ringside {
namespace {

constexpr std::size_t elements = 1000;
constexpr double scalar = -2.75;  // truncates to -2
constexpr std::uint64_t raw_mask = 0b10101;
constexpr int ranks = 3;
constexpr std::size_t most_sources = 9;

/// How one storage type is read and written, independently of the library.
template <class Stored>
struct Plain {
  using Value = Stored;
  static Value read(Stored stored) { return stored; }
  static Stored write(Value value) { return value; }
};
template <class Bits, const independent::Format& format, const independent::Encoder& (*encoder)(),
          Bits nan>
struct Narrow {
  using Value = float;
  static Value read(Bits stored) { return static_cast<float>(independent::decode(format, stored)); }
  static Bits write(Value value) {
    return std::isnan(value) ? nan : static_cast<Bits>(encoder()(value));
  }
};
using Half =
    Narrow<std::uint16_t, independent::float16_format, independent::float16_encoder, 0x7e00>;
using Brain =
    Narrow<std::uint16_t, independent::bfloat16_format, independent::bfloat16_encoder, 0x7fc0>;
using E4m3 =
    Narrow<std::uint8_t, independent::float8_e4m3_format, independent::float8_e4m3_encoder, 0x7f>;
using E5m2 =
    Narrow<std::uint8_t, independent::float8_e5m2_format, independent::float8_e5m2_encoder, 0x7f>;

template <class V>
V premultiplied(V value) {
  if constexpr (std::is_integral_v<V>) {
    return independent::multiply_integers(value, static_cast<V>(-2));
  } else {
    return independent::combine_floats<V>(ReduceOp::prod, value, static_cast<V>(scalar));
  }
}

template <class V>
V expected_value(ReduceOp op, std::span<const V> values) {
  if constexpr (std::is_integral_v<V>) {
    const V folded = independent::fold_integers<V>(op, values);
    return op == ReduceOp::avg
               ? static_cast<V>(static_cast<independent::SignedWide>(folded) / ranks)
               : folded;
  } else {
    V folded = values[0];
    for (V value : values.subspan(1)) folded = independent::combine_floats<V>(op, folded, value);
    return op == ReduceOp::avg ? independent::divide_float<V>(folded, ranks) : folded;
  }
}

/// Element i of all sources, folded.
template <class Stored, class Format>
Stored expected_element(ReduceOp op, std::span<const std::byte* const> sources, std::size_t i) {
  using Value = typename Format::Value;
  std::array<Value, most_sources> values{};
  for (std::size_t j = 0; j < sources.size(); ++j) {
    Stored stored;
    std::memcpy(&stored, sources[j] + i * sizeof stored, sizeof stored);
    // One source with nothing to compute is a copy, which rounds nothing (and saturates nothing).
    if (sources.size() == 1 && op != ReduceOp::avg && op != ReduceOp::premul_sum) return stored;
    values[j] = Format::read(stored);
    if (op == ReduceOp::premul_sum && ((raw_mask >> j) & 1U) != 0)
      values[j] = premultiplied(values[j]);
  }
  return Format::write(expected_value<Value>(op, std::span(values).first(sources.size())));
}

template <class Stored, class Format>
void expect_definition(ElementType type) {
  for (ReduceOp op : all_reduce_ops) {
    for (std::size_t k : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U}) {
      SCOPED_TRACE(std::string(to_string(type)) + " " + std::string(to_string(op)) +
                   " k=" + std::to_string(k));
      std::vector<std::vector<std::byte>> inputs;
      std::vector<const std::byte*> sources;
      for (std::size_t j = 0; j < k; ++j) inputs.push_back(testing::samples(type, elements, j + 1));
      for (const auto& input : inputs) sources.push_back(input.data());
      std::vector<std::byte> first(elements * sizeof(Stored));
      std::vector<std::byte> second(elements * sizeof(Stored));
      std::byte* const destinations[] = {first.data(), second.data()};
      reference_fold({.sources = sources,
                      .destinations = destinations,
                      .elements = elements,
                      .type = type,
                      .op = op,
                      .raw_mask = raw_mask,
                      .scalar = scalar,
                      .completes = true,
                      .ranks = ranks});

      std::vector<Stored> expected(elements);
      for (std::size_t i = 0; i < elements; ++i)
        expected[i] = expected_element<Stored, Format>(op, sources, i);
      ASSERT_EQ(first, second);
      const std::size_t at = testing::first_difference(
          type, first.data(), reinterpret_cast<const std::byte*>(expected.data()), elements);
      ASSERT_EQ(at, elements);
    }
  }
}

TEST(ReferenceFold, MeetsTheDefinitionForInt8) {
  expect_definition<std::int8_t, Plain<std::int8_t>>(ElementType::int8);
}
TEST(ReferenceFold, MeetsTheDefinitionForUint8) {
  expect_definition<std::uint8_t, Plain<std::uint8_t>>(ElementType::uint8);
}
TEST(ReferenceFold, MeetsTheDefinitionForInt32) {
  expect_definition<std::int32_t, Plain<std::int32_t>>(ElementType::int32);
}
TEST(ReferenceFold, MeetsTheDefinitionForUint32) {
  expect_definition<std::uint32_t, Plain<std::uint32_t>>(ElementType::uint32);
}
TEST(ReferenceFold, MeetsTheDefinitionForInt64) {
  expect_definition<std::int64_t, Plain<std::int64_t>>(ElementType::int64);
}
TEST(ReferenceFold, MeetsTheDefinitionForUint64) {
  expect_definition<std::uint64_t, Plain<std::uint64_t>>(ElementType::uint64);
}
TEST(ReferenceFold, MeetsTheDefinitionForFloat16) {
  expect_definition<std::uint16_t, Half>(ElementType::float16);
}
TEST(ReferenceFold, MeetsTheDefinitionForFloat32) {
  expect_definition<float, Plain<float>>(ElementType::float32);
}
TEST(ReferenceFold, MeetsTheDefinitionForFloat64) {
  expect_definition<double, Plain<double>>(ElementType::float64);
}
TEST(ReferenceFold, MeetsTheDefinitionForBfloat16) {
  expect_definition<std::uint16_t, Brain>(ElementType::bfloat16);
}
TEST(ReferenceFold, MeetsTheDefinitionForFloat8E4m3) {
  expect_definition<std::uint8_t, E4m3>(ElementType::float8_e4m3);
}
TEST(ReferenceFold, MeetsTheDefinitionForFloat8E5m2) {
  expect_definition<std::uint8_t, E5m2>(ElementType::float8_e5m2);
}

TEST(ReferenceFold, LeavesAnAverageUndividedUntilItIsComplete) {
  const float a = 5.0F;
  const float b = 4.0F;
  float result = 0;
  const std::byte* const sources[] = {reinterpret_cast<const std::byte*>(&a),
                                      reinterpret_cast<const std::byte*>(&b)};
  std::byte* const destinations[] = {reinterpret_cast<std::byte*>(&result)};
  Fold fold{.sources = sources, .destinations = destinations, .elements = 1, .op = ReduceOp::avg};
  fold.ranks = 3;
  reference_fold(fold);
  EXPECT_EQ(result, 9.0F);
  fold.completes = true;
  reference_fold(fold);
  EXPECT_EQ(result, 3.0F);
}

TEST(ReferenceFold, RoundsANarrowFloatOncePerStore) {
  // 2048 + 1 + 1: float16 has steps of 2 there, so rounding after each addition would lose both.
  const float16 large{0x6800};
  const float16 one{0x3c00};
  float16 result{0};
  const std::byte* const sources[] = {reinterpret_cast<const std::byte*>(&large),
                                      reinterpret_cast<const std::byte*>(&one),
                                      reinterpret_cast<const std::byte*>(&one)};
  std::byte* const destinations[] = {reinterpret_cast<std::byte*>(&result)};
  reference_fold({.sources = sources,
                  .destinations = destinations,
                  .elements = 1,
                  .type = ElementType::float16});
  EXPECT_EQ(result.bits, 0x6801);
}

}  // namespace
}  // namespace ringside
