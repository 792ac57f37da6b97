// SPDX-License-Identifier: MIT
#include "ringside/collectives/binding.hpp"

#include <fmt/format.h>

#include "ringside/base/error.hpp"

namespace ringside {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Offset of every block of a buffer, by position, and the buffer's length at the end.
std::vector<std::size_t> offsets(const BlockRange& range, const std::vector<std::size_t>& lengths) {
  std::vector<std::size_t> result = {0};
  for (int i = 0; i < range.count; ++i)
    result.push_back(result.back() + lengths[index(range.block(i))]);
  return result;
}

}  // namespace

Binding::Binding(const Plan& plan, std::span<const std::size_t> block_elements)
    : Binding(plan, block_elements, plan.shape()) {}

Binding Binding::unsliced(const Plan& plan, std::span<const std::size_t> block_elements) {
  Shape shape = plan.shape();
  shape.slices = shape.depth = 1;
  return {plan, block_elements, shape};
}

Binding::Binding(const Plan& plan, std::span<const std::size_t> block_elements, const Shape& shape)
    : request_(plan.request()),
      shape_(shape),
      blocks_(block_elements.begin(), block_elements.end()) {
  if (blocks_.size() != index(block_count(request_)))
    throw Error(ErrorCode::invalid_argument, fmt::format("{} block lengths for {} blocks",
                                                         blocks_.size(), block_count(request_)));
  for (int rank = 0; rank < request_.ranks; ++rank) {
    input_offsets_.push_back(offsets(blocks_in(request_, rank, Buffer::input), blocks_));
    output_offsets_.push_back(offsets(blocks_in(request_, rank, Buffer::output), blocks_));
    place_scratch(plan.scratch(rank));
  }
}

void Binding::place_scratch(std::span<const ScratchSlot> slots) {
  std::vector<Slot> placed;
  std::size_t end = 0;
  for (const auto& slot : slots) {
    Slot entry{end, 0, slot.first_chunk, {}};
    for (int chunk = slot.first_chunk; chunk < slot.first_chunk + slot.chunk_count; ++chunk) {
      entry.chunk_offset.push_back(entry.pitch);
      if (slot.place == ScratchSlot::Place::wire) continue;
      entry.pitch += part_of(chunk_length(chunk), index(shape_.slices), 0).length;
    }
    end += entry.pitch * index(shape_.depth);
    placed.push_back(std::move(entry));
  }
  slots_.push_back(std::move(placed));
  scratch_length_.push_back(end);
}

std::size_t Binding::chunk_length(int chunk) const {
  return part_of(blocks_[index(chunk / shape_.chunks_per_block)], index(shape_.chunks_per_block),
                 index(chunk % shape_.chunks_per_block))
      .length;
}

Extent Binding::extent(const Location& location, int offset, int slice) const {
  const int number = location.chunk + offset;
  const int block = number / shape_.chunks_per_block;
  const Extent chunk = part_of(blocks_[index(block)], index(shape_.chunks_per_block),
                               index(number % shape_.chunks_per_block));
  const Extent piece = part_of(chunk.length, index(shape_.slices), index(slice));
  if (location.buffer == Buffer::scratch) {
    const Slot& slot = slots_[index(location.rank)][index(location.slot)];
    return {slot.offset + index(slice % shape_.depth) * slot.pitch +
                slot.chunk_offset[index(number - slot.first_chunk)],
            piece.length};
  }
  const auto& offsets = location.buffer == Buffer::input ? input_offsets_ : output_offsets_;
  const int position = blocks_in(request_, location.rank, location.buffer).position(block);
  return {offsets[index(location.rank)][index(position)] + chunk.offset + piece.offset,
          piece.length};
}

std::size_t Binding::length(int rank, Buffer buffer) const {
  switch (buffer) {
    case Buffer::input:
      return input_offsets_[index(rank)].back();
    case Buffer::output:
      return output_offsets_[index(rank)].back();
    case Buffer::scratch:
      return scratch_length_[index(rank)];
  }
  return 0;
}

}  // namespace ringside
