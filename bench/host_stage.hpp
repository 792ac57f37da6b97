// SPDX-License-Identifier: MIT
/// A stage of the host: ranks are threads, their memory is this process's. Or ranks are processes,
/// and the memory is that of this process's rank, or of its GPU.
#pragma once

#include <vector>

#include "ringside/bench/buffers.hpp"
#include "ringside/bench/stage.hpp"
#include "ringside/collectives/shared_memory.hpp"

namespace ringside::bench {

class HostStage final : public Stage {
 public:
  /// For calls of `what` (its placement is ignored) of up to `bytes` bytes (volume.hpp). Throws
  /// Error(io) without memory.
  HostStage(const Request& what, std::size_t bytes, const BenchRequest& request);

  /// Bytes of all ranks' buffers of such a stage.
  [[nodiscard]] static std::uint64_t bytes_needed(const Request& what, std::size_t bytes,
                                                  const BenchRequest& request);

  /// Where a rank's data lie in a call of the shape. Of cold buffers there are many, and `turn`
  /// says which.
  [[nodiscard]] Memory memory(int rank, Placement placement, const CallShape& shape,
                              std::size_t element_bytes, std::uint64_t turn = 0);
  /// Calls so far with cold buffers: the next one's turn. A rank counts its own.
  [[nodiscard]] std::uint64_t& turns(int rank) {
    return turns_[static_cast<std::size_t>(rank)].number;
  }

  /// Writes ones where calls of blocks of `count` elements find their data: numbers that no
  /// repetition in place turns into slow ones (subnormals).
  void fill_with_ones(ElementType type, std::uint64_t count);

  [[nodiscard]] BlockTimes time(const Cell& cell, const Block& block,
                                const CallOptions& options) override;
  [[nodiscard]] Seconds shortest_sample() const override;
  void run(int rank, const CheckedCall& call, const CallOptions& options) override;

 private:
  struct alignas(64) Turns {  // a cache line each: ranks count in their calls
    std::uint64_t number = 0;
  };

  /// In memory of the host: the rank's, or of one on a GPU the copy of it.
  [[nodiscard]] Memory memory_at_host(int rank, Placement placement, const CallShape& shape,
                                      std::size_t element_bytes);

  std::size_t pool_;  // bytes that cold buffers move through; 0: they stay
  bool on_gpus_;
  /// Where a buffer lies, and what keeps it. On a GPU that is shared memory, and `own` its copy at
  /// the host.
  struct Room {
    PageBuffer own;
    SharedMemory shared;
    [[nodiscard]] std::byte* data() const {
      return shared.bytes().empty() ? own.data() : shared.bytes().data();
    }
    [[nodiscard]] std::size_t size() const {
      return shared.bytes().empty() ? own.size() : shared.bytes().size();
    }
  };
  std::vector<Room> inputs_, outputs_;
  std::vector<Turns> turns_;
  std::optional<ElementType> pool_type_;  // that the whole pool was filled with
};

/// The bytes a rank's cold buffers move through: with those of all ranks twice what the last caches
/// hold. More ranks than cores share them.
[[nodiscard]] std::size_t cold_pool(int ranks, int cores, std::uint64_t last_cache);

}  // namespace ringside::bench
