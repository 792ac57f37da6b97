// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/cuda/scratch.hpp"

#include <algorithm>

namespace ringside::cuda {

void Scratch::reserve(const Program& program) {
  for (int rank = 0; rank < program.ranks; ++rank) {
    grow(rank, Base::scratch, program.scratch[static_cast<std::size_t>(rank)]);
    grow(rank, Base::host_scratch, program.host_scratch[static_cast<std::size_t>(rank)]);
  }
}

void Scratch::grow(int rank, Base place, std::size_t bytes) {
  Arena& arena = this->arena(rank, place);
  if (bytes <= arena.bytes) return;
  const int device = devices_[static_cast<std::size_t>(rank)];
  const std::size_t twice = 2 * arena.bytes;
  const bool has_grown =
      twice > bytes && exception_of([&] { allocate(arena, device, place, twice); }) == nullptr;
  if (!has_grown) allocate(arena, device, place, bytes);
}

void Scratch::allocate(Arena& arena, int device, Base place, std::size_t bytes) {
  if (place == Base::host_scratch) {
    const DeviceGuard guard(device);
    auto memory = std::make_shared<PinnedMemory>(PinnedMemory::of(bytes));
    arena.memory = memory->data();
    arena.owned.push_back(std::move(memory));
  } else {
    auto memory = std::make_shared<DeviceMemory>(DeviceMemory::on(device, bytes));
    arena.memory = memory->data();
    arena.owned.push_back(std::move(memory));
  }
  arena.bytes = bytes;
  arena.uses.clear();  // nobody has used the new memory
}

std::vector<std::shared_ptr<void>> Scratch::memory() const {
  std::vector<std::shared_ptr<void>> all;
  for (const auto& arena : arenas_)
    if (!arena.owned.empty()) all.push_back(arena.owned.back());
  return all;
}

void Scratch::conflicts(int rank, Base place, std::size_t begin, std::size_t bytes, bool writes,
                        std::vector<Point>& points) const {
  for (const Use& use : arenas_[index(rank, place)].uses)
    if (use.begin < begin + bytes && begin < use.end && (writes || use.writes))
      points.push_back(use.point);
}

void Scratch::note(int rank, Base place, std::size_t begin, std::size_t bytes, bool writes,
                   const Point& point) {
  auto& uses = arena(rank, place).uses;
  const std::size_t end = begin + bytes;
  // Who comes behind a write comes behind what that came behind; likewise for one stream's reads.
  std::erase_if(uses, [&](const Use& use) {
    const bool covered = begin <= use.begin && use.end <= end;
    return covered && (writes || (!use.writes && use.point.stream == point.stream));
  });
  uses.push_back({begin, end, writes, point});
}

}  // namespace ringside::cuda
