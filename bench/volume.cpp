// SPDX-License-Identifier: MIT
#include "ringside/bench/volume.hpp"

namespace ringside::bench {

bool has_block_per_rank(Collective collective) {
  switch (collective) {
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::gather:
    case Collective::scatter:
    case Collective::all_to_all:
      return true;
    default:
      return false;
  }
}

Volume volume_of(Collective collective, int ranks, ElementType type, std::uint64_t bytes,
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

double bus_factor(Collective collective, int ranks) {
  if (collective == Collective::all_reduce) return 2.0 * (ranks - 1) / ranks;
  return has_block_per_rank(collective) ? static_cast<double>(ranks - 1) / ranks : 1.0;
}

bool can_be_in_place(Collective collective) {
  return collective != Collective::all_to_all && collective != Collective::barrier;
}

std::string_view nccl_tests_name(Collective collective) {
  return collective == Collective::all_to_all ? "alltoall" : to_string(collective);
}

std::string_view redop_name(Collective collective, ReduceOp op) {
  return reduces(collective) ? nccl_tests_name(op) : "none";
}

int root_column(Collective collective, int root) { return has_root(collective) ? root : -1; }

}  // namespace ringside::bench
