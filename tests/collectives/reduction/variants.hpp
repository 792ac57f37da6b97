// SPDX-License-Identifier: MIT
/// The ways of folding that tests of folds go through.
#pragma once

#include <cstdint>
#include <vector>

#include "ringside/collectives/reduction/types.hpp"

namespace ringside::testing {

/// An operator with the marks that change what it does.
struct Variant {
  const char* name;
  ReduceOp op;
  std::uint64_t raw_mask = 0;
  bool all_raw = false;
  bool completes = false;
  int ranks = 1;
};

inline const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = {
      {.name = "sum", .op = ReduceOp::sum},
      {.name = "prod", .op = ReduceOp::prod},
      {.name = "max", .op = ReduceOp::max},
      {.name = "min", .op = ReduceOp::min},
      {.name = "avg", .op = ReduceOp::avg, .ranks = 5},
      {.name = "avg, completing", .op = ReduceOp::avg, .completes = true, .ranks = 7},
      {.name = "avg of one, completing", .op = ReduceOp::avg, .completes = true, .ranks = 1},
      {.name = "avg of many", .op = ReduceOp::avg, .completes = true, .ranks = 256},
      {.name = "premul_sum, nothing raw", .op = ReduceOp::premul_sum},
      {.name = "premul_sum, some raw", .op = ReduceOp::premul_sum, .raw_mask = 0x12d7a},
      {.name = "premul_sum, all raw", .op = ReduceOp::premul_sum, .all_raw = true},
  };
  return all;
}

/// Which destinations are sources.
enum class Aliasing { none, first, all, last };

/// True if a fold of k sources stores what it read, bit for bit.
inline bool is_copy(const Variant& variant, std::size_t k) {
  return k == 1 && (variant.raw_mask & 1U) == 0 && !variant.all_raw &&
         !(variant.completes && variant.ranks > 1);
}

}  // namespace ringside::testing
