// SPDX-License-Identifier: MIT
/// How algorithms for 2^k ranks serve any number: the extra ranks fold in before and get the result
/// after.
#pragma once

#include <bit>

namespace ringside {

/// n = size + extras, size the greatest power of two in it. The first 2 x extras ranks pair up: the
/// odd one of each pair is an extra and folds into the even one beside it (neighbours are near on
/// most machines). The even ones and the ranks behind the pairs are the members 0 .. size-1, in
/// rank order, so the lower member always holds the lower ranks.
struct PowerOfTwo {
  int size = 1;
  int rounds = 0;  ///< log2 size
  int extras = 0;

  explicit PowerOfTwo(int ranks)
      : size(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
        rounds(std::countr_zero(static_cast<unsigned>(size))),
        extras(ranks - size) {}

  /// The rank of a member.
  [[nodiscard]] int rank(int member) const {
    return member < extras ? 2 * member : member + extras;
  }
  [[nodiscard]] bool has_extra(int member) const { return member < extras; }
  /// The extra rank that folds into a member which has one.
  [[nodiscard]] int extra(int member) const { return 2 * member + 1; }
};

}  // namespace ringside
