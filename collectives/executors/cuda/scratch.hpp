// SPDX-License-Identifier: MIT
/// The scratch of a communicator's ranks, and who used it last.
///
/// Within a call the plan's waits keep its users in order. From one call to the next there are no
/// waits but these: an operation comes behind those of earlier calls that used the same bytes, if
/// one of the two writes.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "ringside/collectives/executors/cuda/order.hpp"
#include "ringside/collectives/executors/cuda/program.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"

namespace ringside::cuda {

/// Used by one thread at a time.
class Scratch {
 public:
  /// By rank: its device.
  explicit Scratch(std::vector<int> devices)
      : devices_(std::move(devices)), arenas_(devices_.size() * 2) {}

  /// Makes it long enough for a program. What is too short is kept as long as this lives: who uses
  /// it may not have come to an end. Grows at least twofold if there is the
  /// memory, so that all that is kept is no more than what is in use. Throws Error(io) without
  /// memory, Error(device).
  void reserve(const Program& program);
  [[nodiscard]] std::byte* address(int rank, Base place) { return arena(rank, place).memory; }
  /// What a graph must keep alive, because addresses are in it.
  [[nodiscard]] std::vector<std::shared_ptr<void>> memory() const;

  /// The operations that one at so many bytes from `begin` must come behind.
  void conflicts(int rank, Base place, std::size_t begin, std::size_t bytes, bool writes,
                 std::vector<Point>& points) const;
  void note(int rank, Base place, std::size_t begin, std::size_t bytes, bool writes,
            const Point& point);

 private:
  struct Use {
    std::size_t begin, end;
    bool writes;
    Point point;
  };
  struct Arena {
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
    std::vector<std::shared_ptr<void>> owned;  // the last is in use
    std::vector<Use> uses;
  };

  [[nodiscard]] std::size_t index(int rank, Base place) const {
    return static_cast<std::size_t>(rank) * 2 + (place == Base::host_scratch ? 1 : 0);
  }
  [[nodiscard]] Arena& arena(int rank, Base place) { return arenas_[index(rank, place)]; }
  void grow(int rank, Base place, std::size_t bytes);
  void allocate(Arena& arena, int device, Base place, std::size_t bytes);

  std::vector<int> devices_;
  std::vector<Arena> arenas_;
};

}  // namespace ringside::cuda
