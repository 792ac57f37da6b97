// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/scratch_places.hpp"

#include <span>

namespace ringside {
namespace {

std::size_t begin_of(const Binding& binding, int rank, std::span<const ScratchSlot> slots,
                     std::size_t slot) {
  const Location first{rank, Buffer::scratch, static_cast<int>(slot), slots[slot].first_chunk};
  return binding.extent(first, 0, 0).offset;
}

}  // namespace

ScratchPlaces::ScratchPlaces(const Plan& plan, const Binding& binding) {
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    const auto slots = plan.scratch(rank);
    auto& shifts = shifts_.emplace_back();
    std::size_t ends[2] = {0, 0};
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      const std::size_t begin = begin_of(binding, rank, slots, slot);
      const std::size_t end = slot + 1 < slots.size() ? begin_of(binding, rank, slots, slot + 1)
                                                      : binding.length(rank, Buffer::scratch);
      std::size_t& place = ends[slots[slot].place == ScratchSlot::Place::host ? 1 : 0];
      shifts.push_back(begin - place);
      place += end - begin;
    }
    device_.push_back(ends[0]);
    host_.push_back(ends[1]);
  }
}

}  // namespace ringside
