// SPDX-License-Identifier: MIT
/// A second definition of the arithmetic, made of other means than the library's: narrow floats
/// from their fields and by search, sums in a wider type rounded once, integers modulo 2^w.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "ringside/collectives/reduction/types.hpp"

namespace ringside::independent {

__extension__ typedef __float128 Quad;
__extension__ typedef unsigned __int128 Wide;
__extension__ typedef __int128 SignedWide;

/// A narrow format by its field widths; IEEE-like unless it has no infinities.
struct Format {
  int exponent_bits;
  int fraction_bits;
  bool infinities = true;  ///< else the largest exponent is ordinary, except for NaN, all ones
  bool saturates = false;  ///< too large and infinite become the largest finite value
};
inline constexpr Format float16_format{5, 10};
inline constexpr Format bfloat16_format{8, 7};
inline constexpr Format float8_e4m3_format{4, 3, false, true};
inline constexpr Format float8_e5m2_format{5, 2, true, true};

inline unsigned sign_bit(Format format) {
  return 1U << (format.exponent_bits + format.fraction_bits);
}

/// The first pattern that is no finite number.
inline unsigned first_special(Format format) {
  return format.infinities ? ((1U << format.exponent_bits) - 1U) << format.fraction_bits
                           : sign_bit(format) - 1U;
}

/// The value of a pattern, from sign, exponent and fraction.
inline double decode(Format format, unsigned pattern) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int exponent =
      static_cast<int>(pattern >> format.fraction_bits) & ((1 << format.exponent_bits) - 1);
  const int fraction = static_cast<int>(pattern) & ((1 << format.fraction_bits) - 1);
  const double sign = (pattern & sign_bit(format)) != 0 ? -1.0 : 1.0;
  if ((pattern & (sign_bit(format) - 1U)) >= first_special(format)) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - format.fraction_bits);
  return sign *
         std::ldexp((1 << format.fraction_bits) + fraction, exponent - bias - format.fraction_bits);
}

/// Rounds to nearest, ties to the even pattern, by looking for the neighbours among all values of
/// the format. The neighbour above the largest is what would follow it: a result there is infinity,
/// or the largest in a format that saturates.
class Encoder {
 public:
  explicit Encoder(Format format)
      : sign_(sign_bit(format)), last_(first_special(format) - (format.saturates ? 1U : 0U)) {
    for (unsigned pattern = 0; pattern < first_special(format); ++pattern)
      values_.push_back(decode(format, pattern));
    values_.push_back(2 * values_.back() - values_[values_.size() - 2]);
  }

  /// The pattern for a value that is not NaN.
  [[nodiscard]] unsigned operator()(double value) const {
    return (std::signbit(value) ? sign_ : 0U) | std::min(last_, nearest(std::fabs(value)));
  }

  /// The non-negative finite values in rising order, and the first that is too large.
  [[nodiscard]] const std::vector<double>& values() const { return values_; }

 private:
  [[nodiscard]] unsigned nearest(double magnitude) const {
    const auto above = std::lower_bound(values_.begin(), values_.end(), magnitude);
    if (above == values_.end()) return static_cast<unsigned>(values_.size() - 1);
    const unsigned high = static_cast<unsigned>(above - values_.begin());
    if (*above == magnitude) return high;
    const unsigned low = high - 1;
    const double twice = 2 * magnitude;  // exact, as is the sum of two neighbours
    const double middle = values_[low] + values_[high];
    if (twice != middle) return twice < middle ? low : high;
    return low % 2 == 0 ? low : high;
  }

  unsigned sign_;
  unsigned last_;  ///< what is too large becomes
  std::vector<double> values_;
};

inline const Encoder& float16_encoder() {
  static const Encoder encoder(float16_format);
  return encoder;
}
inline const Encoder& bfloat16_encoder() {
  static const Encoder encoder(bfloat16_format);
  return encoder;
}

inline const Encoder& float8_e4m3_encoder() {
  static const Encoder encoder(float8_e4m3_format);
  return encoder;
}
inline const Encoder& float8_e5m2_encoder() {
  static const Encoder encoder(float8_e5m2_format);
  return encoder;
}

/// float32 and float64 arithmetic through a type with more than twice the precision, where rounding
/// twice equals rounding once for +, * and /.
template <class F>
using Wider = std::conditional_t<sizeof(F) == 4, double, Quad>;

template <class F>
F combine_floats(ReduceOp op, F a, F b) {
  using W = Wider<F>;
  switch (op) {
    case ReduceOp::prod:
      return static_cast<F>(static_cast<W>(a) * static_cast<W>(b));
    case ReduceOp::max:
    case ReduceOp::min: {
      if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<F>::quiet_NaN();
      const bool a_below_b = a < b || (a == b && std::signbit(a) && !std::signbit(b));
      return a_below_b == (op == ReduceOp::min) ? a : b;
    }
    default:
      return static_cast<F>(static_cast<W>(a) + static_cast<W>(b));
  }
}

template <class F>
F divide_float(F value, int ranks) {
  return static_cast<F>(static_cast<Wider<F>>(value) /
                        static_cast<Wider<F>>(static_cast<F>(ranks)));
}

/// Modulo 2^w.
template <class I>
I multiply_integers(I a, I b) {
  return static_cast<I>(static_cast<Wide>(static_cast<SignedWide>(a)) *
                        static_cast<Wide>(static_cast<SignedWide>(b)));
}

/// Left to right over unbounded (for sums and products: modulo 2^128) integers, wrapped once.
template <class I>
I fold_integers(ReduceOp op, std::span<const I> values) {
  if (op == ReduceOp::max) return *std::max_element(values.begin(), values.end());
  if (op == ReduceOp::min) return *std::min_element(values.begin(), values.end());
  Wide result = op == ReduceOp::prod ? 1 : 0;
  for (I value : values) {
    const Wide operand = static_cast<Wide>(static_cast<SignedWide>(value));
    result = op == ReduceOp::prod ? result * operand : result + operand;
  }
  return static_cast<I>(result);
}

}  // namespace ringside::independent
