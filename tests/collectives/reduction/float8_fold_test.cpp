// SPDX-License-Identifier: MIT
/// The 8-bit floats have few enough values to try all pairs: every build of the kernels against a
/// definition made by other means (independent.hpp).
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "independent.hpp"
#include "ringside/collectives/reduction/fold.hpp"

namespace ringside {
namespace {

struct Float8 {
  ElementType type;
  independent::Format format;
  const independent::Encoder& encoder;

  [[nodiscard]] float read(unsigned char pattern) const {
    return static_cast<float>(independent::decode(format, pattern));
  }
  [[nodiscard]] unsigned char write(float value) const {
    return std::isnan(value) ? 0x7f : static_cast<unsigned char>(encoder(value));
  }
};

const std::vector<Float8>& formats() {
  static const std::vector<Float8> all = {
      {ElementType::float8_e4m3, independent::float8_e4m3_format,
       independent::float8_e4m3_encoder()},
      {ElementType::float8_e5m2, independent::float8_e5m2_format,
       independent::float8_e5m2_encoder()},
  };
  return all;
}

/// All pairs of patterns: the first of each pair, or the second.
std::vector<unsigned char> patterns(bool second) {
  std::vector<unsigned char> result;
  for (unsigned i = 0; i < 0x10000U; ++i)
    result.push_back(static_cast<unsigned char>(second ? i & 0xffU : i >> 8));
  return result;
}

float expected(ReduceOp op, float a, float b, double scalar) {
  const auto factor = static_cast<float>(scalar);
  switch (op) {
    case ReduceOp::premul_sum:
      return independent::combine_floats<float>(
          ReduceOp::sum, independent::combine_floats<float>(ReduceOp::prod, a, factor),
          independent::combine_floats<float>(ReduceOp::prod, b, factor));
    case ReduceOp::avg:
      return independent::divide_float<float>(
          independent::combine_floats<float>(ReduceOp::sum, a, b), 3);
    default:
      return independent::combine_floats<float>(op, a, b);
  }
}

void expect_all_pairs(const Float8& format, ReduceOp op, double scalar) {
  const auto a = patterns(false);
  const auto b = patterns(true);
  std::vector<unsigned char> result(a.size());
  const std::byte* const sources[] = {reinterpret_cast<const std::byte*>(a.data()),
                                      reinterpret_cast<const std::byte*>(b.data())};
  std::byte* const destinations[] = {reinterpret_cast<std::byte*>(result.data())};
  for (std::string_view isa : available_fold_isas()) {
    fold_with(isa, {.sources = sources,
                    .destinations = destinations,
                    .elements = a.size(),
                    .type = format.type,
                    .op = op,
                    .all_raw = true,
                    .scalar = scalar,
                    .completes = true,
                    .ranks = 3});
    std::size_t failures = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const unsigned wanted =
          format.write(expected(op, format.read(a[i]), format.read(b[i]), scalar));
      // NaNs too: there is one that results can be, min and max apart (which keep signs of NaNs in
      // float32, where the store drops them).
      if (result[i] != wanted && ++failures < 5)
        ADD_FAILURE() << isa << " " << to_string(format.type) << " " << to_string(op) << std::hex
                      << " of " << +a[i] << " and " << +b[i] << ": " << +result[i] << ", not "
                      << wanted;
    }
    EXPECT_EQ(failures, 0U);
  }
}

TEST(Float8Fold, MeetsTheDefinitionForAllPairsAndOperators) {
  for (const Float8& format : formats())
    for (ReduceOp op : all_reduce_ops) expect_all_pairs(format, op, -2.75);
}

TEST(Float8Fold, ScalesIntoSubnormalsAndOutOfRange) {
  for (const Float8& format : formats())
    for (double scalar : {0x1.8p-9, 0x1.2p-20, 1e30, 1e300})
      expect_all_pairs(format, ReduceOp::premul_sum, scalar);
}

TEST(Float8Fold, CopiesInfinitiesAndNaNsAsTheyAre) {
  const auto a = patterns(true);
  std::vector<unsigned char> result(a.size());
  const std::byte* const sources[] = {reinterpret_cast<const std::byte*>(a.data())};
  std::byte* const destinations[] = {reinterpret_cast<std::byte*>(result.data())};
  for (std::string_view isa : available_fold_isas()) {
    for (ReduceOp op : all_reduce_ops) {
      std::fill(result.begin(), result.end(), static_cast<unsigned char>(0));
      fold_with(isa, {.sources = sources,
                      .destinations = destinations,
                      .elements = a.size(),
                      .type = ElementType::float8_e5m2,
                      .op = op,
                      .raw_mask = 2});  // not the source's mark
      EXPECT_EQ(result, a) << isa << " " << to_string(op);
    }
  }
}

}  // namespace
}  // namespace ringside
