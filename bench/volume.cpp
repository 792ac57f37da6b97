// SPDX-License-Identifier: MIT
#include "ringside/bench/volume.hpp"

namespace ringside::bench {

Volume volume_of(Operation collective, int ranks, ElementType type, std::uint64_t bytes,
                 bool exact) {
  if (collective == Collective::barrier) return {};
  const std::uint64_t element = size_of(type);
  std::uint64_t count = bytes / element;
  if (!has_block_per_rank(collective)) return {count, count * element};
  constexpr std::uint64_t alignment = 16;  // bytes
  const auto n = static_cast<std::uint64_t>(ranks);
  count /= n;
  if (!exact) count -= count % (alignment / element);
  return {count, count * n * element};
}

double bus_factor(Operation collective, int ranks) {
  if (collective == Collective::all_reduce) return 2.0 * (ranks - 1) / ranks;
  return has_block_per_rank(collective) ? static_cast<double>(ranks - 1) / ranks : 1.0;
}

std::string_view redop_name(Operation collective, ReduceOp op) {
  return reduces(collective) ? nccl_tests_name(op) : "none";
}

int root_column(Operation collective, int root) { return has_root(collective) ? root : -1; }

}  // namespace ringside::bench
