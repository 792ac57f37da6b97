// SPDX-License-Identifier: MIT
/// Narrowing to 8 bits for every float32 there is, against the boundaries between the values.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "independent.hpp"
#include "ringside/collectives/reduction/element.hpp"

namespace ringside {
namespace {

using namespace RINGSIDE_ISA_NAMESPACE;

/// Rising magnitudes fall from one pattern to the next at the midpoints, a midpoint itself to the
/// even one; so one walk over all of them needs a comparison each.
template <class T>
void expect_nearest_even_for_all(independent::Format format, const independent::Encoder& encoder) {
  const auto& values = encoder.values();
  const unsigned last = independent::first_special(format) - 1;
  unsigned pattern = 0;
  std::size_t failures = 0;
  for (std::uint32_t bits = 0; bits <= 0x7f800000U; ++bits) {
    const double magnitude = std::bit_cast<float>(bits);
    while (pattern < last) {
      const double middle = (values[pattern] + values[pattern + 1]) / 2;
      if (magnitude < middle || (magnitude == middle && pattern % 2 == 0)) break;
      ++pattern;
    }
    const unsigned up = from_float32<T>(std::bit_cast<float>(bits)).bits;
    const unsigned down = from_float32<T>(std::bit_cast<float>(bits | 0x80000000U)).bits;
    if ((up != pattern || down != (pattern | 0x80U)) && ++failures < 10)
      ADD_FAILURE() << std::hexfloat << magnitude << " became " << std::hex << up << " and " << down
                    << ", not " << pattern;
  }
  EXPECT_EQ(failures, 0U);
  EXPECT_EQ(pattern, last);
  for (std::uint32_t bits = 0x7f800001U; bits < 0x80000000U; ++bits) {
    const unsigned up = from_float32<T>(std::bit_cast<float>(bits)).bits;
    const unsigned down = from_float32<T>(std::bit_cast<float>(bits | 0x80000000U)).bits;
    ASSERT_TRUE(up == 0x7fU && down == 0x7fU) << std::hex << bits;
  }
}

TEST(Float8E4m3, NarrowsEveryFloat32) {
  expect_nearest_even_for_all<float8_e4m3>(independent::float8_e4m3_format,
                                           independent::float8_e4m3_encoder());
}

TEST(Float8E5m2, NarrowsEveryFloat32) {
  expect_nearest_even_for_all<float8_e5m2>(independent::float8_e5m2_format,
                                           independent::float8_e5m2_encoder());
}

}  // namespace
}  // namespace ringside
