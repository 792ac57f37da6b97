// SPDX-License-Identifier: MIT
/// The arithmetic of single elements against definitions made by other means.
#include "ringside/collectives/reduction/element.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "independent.hpp"
#include "samples.hpp"

namespace ringside {
namespace {

using namespace RINGSIDE_ISA_NAMESPACE;
using testing::Random;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

template <class Narrow>
using Bits = decltype(Narrow::bits);

template <class Narrow>
void expect_exact_widening(independent::Format format) {
  for (unsigned pattern = 0; pattern < 2 * independent::sign_bit(format); ++pattern) {
    const float widened = to_float32(Narrow{static_cast<Bits<Narrow>>(pattern)});
    const double expected = independent::decode(format, pattern);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(widened)) << std::hex << pattern;
    } else {
      // As bits, so that zeros keep their sign.
      EXPECT_EQ(bits_of(widened), bits_of(static_cast<float>(expected))) << std::hex << pattern;
    }
  }
}

TEST(Float16, WidensExactlyForAllPatterns) {
  expect_exact_widening<float16>(independent::float16_format);
}

TEST(Bfloat16, WidensExactlyForAllPatterns) {
  expect_exact_widening<bfloat16>(independent::bfloat16_format);
}

TEST(Float8E4m3, WidensExactlyForAllPatterns) {
  expect_exact_widening<float8_e4m3>(independent::float8_e4m3_format);
}

TEST(Float8E5m2, WidensExactlyForAllPatterns) {
  expect_exact_widening<float8_e5m2>(independent::float8_e5m2_format);
}

/// Around every value of the format and every midpoint between two of them, and anywhere.
template <class Narrow>
void expect_nearest_even(Narrow (*narrow)(float), const independent::Encoder& encoder) {
  std::size_t failures = 0;
  const auto check = [&](float value) {
    for (float signed_value : {value, -value}) {
      const unsigned expected = encoder(signed_value);
      const unsigned got = narrow(signed_value).bits;
      if (got != expected && ++failures < 10)
        ADD_FAILURE() << std::hexfloat << signed_value << " became " << std::hex << got << ", not "
                      << expected;
    }
  };
  const auto& values = encoder.values();
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    for (double centre : {values[i], (values[i] + values[i + 1]) / 2}) {
      const float value = static_cast<float>(centre);
      check(value);
      check(std::nextafter(value, infinity));
      if (value > 0) check(std::nextafter(value, 0.0F));
    }
  }
  check(infinity);
  check(std::numeric_limits<float>::max());
  check(std::numeric_limits<float>::min());
  check(std::numeric_limits<float>::denorm_min());
  Random random(1);
  for (int i = 0; i < 200'000; ++i) {
    const float value = from_bits<float>(static_cast<std::uint32_t>(random()) & 0x7fffffffU);
    if (!std::isnan(value)) check(value);
  }
  EXPECT_EQ(failures, 0U);
}

TEST(Float16, NarrowsToNearestTiesToEven) {
  expect_nearest_even<float16>(&to_float16, independent::float16_encoder());
}

TEST(Bfloat16, NarrowsToNearestTiesToEven) {
  expect_nearest_even<bfloat16>(&to_bfloat16, independent::bfloat16_encoder());
}

TEST(Float8E4m3, NarrowsToNearestTiesToEvenAndSaturates) {
  expect_nearest_even<float8_e4m3>(&to_float8_e4m3, independent::float8_e4m3_encoder());
  EXPECT_EQ(to_float8_e4m3(infinity).bits, 0x7e);  // 448
  EXPECT_EQ(to_float8_e4m3(-464.5F).bits, 0xfe);
  EXPECT_EQ(to_float8_e4m3(-0.0F).bits, 0x80);
  EXPECT_EQ(to_float8_e4m3(0x1p-10F).bits, 0x00);  // half the smallest: to even
  EXPECT_EQ(to_float8_e4m3(-0x1.8p-9F).bits, 0x82);
}

TEST(Float8E5m2, NarrowsToNearestTiesToEvenAndSaturates) {
  expect_nearest_even<float8_e5m2>(&to_float8_e5m2, independent::float8_e5m2_encoder());
  EXPECT_EQ(to_float8_e5m2(infinity).bits, 0x7b);  // 57344
  EXPECT_EQ(to_float8_e5m2(-61440.5F).bits, 0xfb);
  EXPECT_EQ(to_float8_e5m2(-0.0F).bits, 0x80);
  EXPECT_EQ(to_float8_e5m2(0x1p-17F).bits, 0x00);
  EXPECT_EQ(to_float8_e5m2(-0x1.8p-16F).bits, 0x82);
}

/// There and back: the same pattern, except that infinity saturates and there is one NaN.
template <class Narrow>
void expect_round_trip(Narrow (*narrow)(float), independent::Format format) {
  for (unsigned pattern = 0; pattern < 256; ++pattern) {
    const float widened = to_float32(Narrow{static_cast<unsigned char>(pattern)});
    const unsigned last = independent::first_special(format) - 1;
    const unsigned expected =
        std::isnan(widened) ? 0x7fU : (pattern & 0x80U) | std::min(pattern & 0x7fU, last);
    EXPECT_EQ(narrow(widened).bits, expected) << std::hex << pattern;
  }
}

TEST(Float8, ComesBackFromFloat32ForAllPatterns) {
  expect_round_trip<float8_e4m3>(&to_float8_e4m3, independent::float8_e4m3_format);
  expect_round_trip<float8_e5m2>(&to_float8_e5m2, independent::float8_e5m2_format);
}

TEST(Float8, HasOneNaNOnceRounded) {
  for (std::uint32_t bits : {0x7f800001U, 0x7fc00000U, 0x7fffffffU, 0xff800001U, 0xffffffffU}) {
    EXPECT_EQ(to_float8_e4m3(from_bits<float>(bits)).bits, 0x7f) << std::hex << bits;
    EXPECT_EQ(to_float8_e5m2(from_bits<float>(bits)).bits, 0x7f) << std::hex << bits;
  }
}

TEST(Floats16Bit, KeepNaNAndMakeItQuiet) {
  for (std::uint32_t bits : {0x7f800001U, 0x7fc00000U, 0x7fffffffU, 0xff800001U, 0xffffffffU,
                             0x7f801000U, 0xff80ffffU}) {
    const unsigned half = to_float16(from_bits<float>(bits)).bits;
    EXPECT_EQ(half & 0x7e00U, 0x7e00U) << std::hex << bits;
    EXPECT_EQ(half >> 15, bits >> 31) << std::hex << bits;
    const unsigned brain = to_bfloat16(from_bits<float>(bits)).bits;
    EXPECT_EQ(brain & 0x7fc0U, 0x7fc0U) << std::hex << bits;
    EXPECT_EQ(brain >> 15, bits >> 31) << std::hex << bits;
  }
}

TEST(MinAndMax, LetNaNWinFromEitherSide) {
  for (float other : {0.0F, -1.0F, infinity, -infinity, nan}) {
    EXPECT_TRUE(std::isnan(Max::combine(nan, other))) << other;
    EXPECT_TRUE(std::isnan(Max::combine(other, nan))) << other;
    EXPECT_TRUE(std::isnan(Min::combine(nan, other))) << other;
    EXPECT_TRUE(std::isnan(Min::combine(other, -nan))) << other;
  }
}

TEST(MinAndMax, OrderTheZerosBySign) {
  EXPECT_EQ(bits_of(Max::combine(-0.0F, 0.0F)), bits_of(0.0F));
  EXPECT_EQ(bits_of(Max::combine(0.0F, -0.0F)), bits_of(0.0F));
  EXPECT_EQ(bits_of(Max::combine(-0.0F, -0.0F)), bits_of(-0.0F));
  EXPECT_EQ(bits_of(Min::combine(-0.0, 0.0)), bits_of(-0.0));
  EXPECT_EQ(bits_of(Min::combine(0.0, -0.0)), bits_of(-0.0));
  EXPECT_EQ(bits_of(Min::combine(0.0, 0.0)), bits_of(0.0));
}

TEST(Integers, WrapInsteadOfOverflowing) {
  EXPECT_EQ(Sum::combine<std::int8_t>(127, 1), -128);
  EXPECT_EQ(Sum::combine<std::int32_t>(INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(Prod::combine<std::int64_t>(INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(Prod::combine<std::uint8_t>(255, 255), 1);
  EXPECT_EQ(Prod::combine<std::uint32_t>(0x10000U, 0x10000U), 0U);
}

template <class I>
void expect_truncating_division() {
  Random random(2);
  for (int i = 0; i < 100'000; ++i) {
    const I value = static_cast<I>(random() >> (random() % 64));
    const int ranks = static_cast<int>((random() & INT32_MAX) >> (random() % 31));
    if (ranks == 0) continue;
    // Also next to multiples of the divisor, where a rounded quotient would show.
    const I multiple = static_cast<I>(value - value % static_cast<independent::SignedWide>(ranks));
    for (int step : {-1, 0, 1}) {
      for (I centre : {value, multiple}) {
        const I dividend = static_cast<I>(static_cast<independent::SignedWide>(centre) + step);
        ASSERT_EQ(divide(dividend, ranks),
                  static_cast<I>(static_cast<independent::SignedWide>(dividend) / ranks))
            << +dividend << " / " << ranks;
      }
    }
  }
}

TEST(Division, OfIntegersTruncatesTowardsZero) {
  expect_truncating_division<std::int8_t>();
  expect_truncating_division<std::uint8_t>();
  expect_truncating_division<std::int32_t>();
  expect_truncating_division<std::uint32_t>();
  expect_truncating_division<std::int64_t>();
  expect_truncating_division<std::uint64_t>();
}

TEST(Scalar, IsTruncatedKeptInRangeAndWrapped) {
  EXPECT_EQ(scalar_as<std::int32_t>(-2.75), -2);
  EXPECT_EQ(scalar_as<std::int32_t>(0.99), 0);
  EXPECT_EQ(scalar_as<std::uint8_t>(-1.0), 255);
  EXPECT_EQ(scalar_as<std::int8_t>(300.5), 44);
  EXPECT_EQ(scalar_as<std::uint64_t>(0x1.8p63), 0xc000000000000000U);
  EXPECT_EQ(scalar_as<std::uint64_t>(1e30), UINT64_MAX);
  EXPECT_EQ(scalar_as<std::int64_t>(-1e30), INT64_MIN);
  EXPECT_EQ(scalar_as<std::uint32_t>(std::nan("")), 0U);
  EXPECT_EQ(scalar_as<float>(0.1), 0.1F);
  EXPECT_EQ(scalar_as<double>(0.1), 0.1);
}

}  // namespace
}  // namespace ringside
