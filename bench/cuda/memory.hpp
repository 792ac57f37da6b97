// SPDX-License-Identifier: MIT
/// The memory and streams of a measurement on GPUs: those of every rank on its device, and copies
/// on the host where calls are checked.
#pragma once

#include <vector>

#include "ringside/bench/buffers.hpp"
#include "ringside/bench/stage.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"

namespace ringside::bench {

/// Shared by the stages of a group, which take turns. A rank's things are used on its thread, or on
/// any while no rank is at work.
class GpuMemory {
 public:
  /// For calls of `what` (its placement is ignored) of up to `bytes` bytes (volume.hpp), rank r on
  /// devices[r]. Throws Error(device) without memory.
  GpuMemory(const Request& what, std::size_t bytes, const BenchRequest& request,
            std::vector<int> devices);

  [[nodiscard]] int device(int rank) const { return devices_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] cudaStream_t stream(int rank) const { return part(rank).stream.get(); }

  /// Where a rank's data lie in a call of the shape: on its device, and in its copy on the host,
  /// which is made when it is first asked for.
  [[nodiscard]] Stage::Memory on_device(int rank, Placement placement, const CallShape& shape,
                                        std::size_t element_bytes) const;
  [[nodiscard]] Stage::Memory on_host(int rank, Placement placement, const CallShape& shape,
                                      std::size_t element_bytes);
  /// Enqueues the copy of such a call's data, all of them, to the device or back.
  void upload(int rank, Placement placement, const CallShape& shape, std::size_t element_bytes);
  void download(int rank, Placement placement, const CallShape& shape, std::size_t element_bytes);

  /// Returns when all that is in the rank's stream is complete. Throws Error(timeout) after
  /// `limit`, Error(device).
  void synchronise(int rank, Seconds limit) const;

  /// Writes the number one to all elements of all buffers, and waits for it.
  void fill_with_ones(ElementType type, Seconds limit);

  /// The number-th event of a rank, for times between.
  [[nodiscard]] cudaEvent_t event(int rank, std::size_t number);

 private:
  /// Enqueues the copy of a call's data from one memory to the other.
  void copy_all(int rank, const Stage::Memory& from, const Stage::Memory& to,
                const CallShape& shape, std::size_t element_bytes);
  struct Part {
    cuda::DeviceMemory input, output;
    PageBuffer host_input, host_output;
    cuda::Stream stream;
    std::vector<cuda::Event> events;
  };
  [[nodiscard]] Part& part(int rank) { return parts_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const Part& part(int rank) const { return parts_[static_cast<std::size_t>(rank)]; }

  std::vector<int> devices_;
  std::vector<Part> parts_;
};

/// The bytes of host memory that checks take, for all ranks together.
[[nodiscard]] std::uint64_t host_copy_bytes(const Request& what, std::size_t bytes,
                                            const BenchRequest& request);

}  // namespace ringside::bench
