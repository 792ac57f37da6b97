// SPDX-License-Identifier: MIT
#include "ringside/bench/checked_data.hpp"

#include "ringside/collectives/layout.hpp"

namespace ringside::bench {
namespace {

/// Calls `use(block, offset)` for the blocks of a buffer; offsets in elements.
template <class Use>
void for_each_block(const BlockRange& held, std::size_t count, const Use& use) {
  for (int i = 0; i < held.count; ++i) use(held.block(i), static_cast<std::size_t>(i) * count);
}

}  // namespace

CheckedData::CheckedData(const Request& request, ElementType type, ReduceOp op, std::uint64_t seed)
    : request_(request), type_(type), seed_(seed) {
  if (reduces(request.collective)) folded_.emplace(type, op, request.ranks, seed);
}

void CheckedData::fill(int rank, std::byte* input, std::size_t count) const {
  const BlockRange held = blocks_in(request_, rank, Buffer::input);
  if (folded_) {
    folded_->fill(rank, input, static_cast<std::size_t>(held.count) * count);
    return;
  }
  for_each_block(held, count, [&](int block, std::size_t offset) {
    fill_block(type_, seed_, block, input + offset * size_of(type_), count);
  });
}

std::uint64_t CheckedData::wrong(int rank, const std::byte* output, std::size_t count) const {
  std::uint64_t wrong = 0;
  for_each_block(
      blocks_in(request_, rank, Buffer::output), count, [&](int block, std::size_t offset) {
        const std::byte* const data = output + offset * size_of(type_);
        // Contributions to several blocks are numbered through all of them.
        wrong += folded_ ? folded_->wrong(data, count, static_cast<std::size_t>(block) * count)
                         : wrong_in_block(type_, seed_, block, data, count);
      });
  return wrong;
}

std::uint64_t CheckedData::changed(int rank, const std::byte* input, std::size_t count) const {
  const BlockRange held = blocks_in(request_, rank, Buffer::input);
  if (folded_) return folded_->changed(rank, input, static_cast<std::size_t>(held.count) * count);
  std::uint64_t changed = 0;
  for_each_block(held, count, [&](int block, std::size_t offset) {
    changed += wrong_in_block(type_, seed_, block, input + offset * size_of(type_), count);
  });
  return changed;
}

}  // namespace ringside::bench
