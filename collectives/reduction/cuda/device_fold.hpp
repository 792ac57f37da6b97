// SPDX-License-Identifier: MIT
/// The fold of the CUDA executor: k sources folded left to right in one kernel, the value stored to
/// m destinations. Same bits as `fold` on the host (NaNs as a class).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "ringside/collectives/reduction/cuda/fold_kernels.hpp"
#include "ringside/collectives/reduction/fold.hpp"

namespace ringside::cuda {

/// A fold resolved to the kernels that do it: a value, which holds for every device and any run.
class DeviceFold {
 public:
  /// Nothing may be called before a resolved one has been assigned.
  DeviceFold() = default;

  /// Enqueues the fold in `stream`, on the current device, to which the stream must belong.
  /// `sources` are shape.k addresses and `destinations` shape.m that this device can reach, of any
  /// alignment; every two runs are either the same or disjoint. The arrays are read before this
  /// returns. Without elements nothing happens. Returns the error of the launch.
  ///
  /// Runs are read and written 16 bytes at a time where all of them lie at the same distance from a
  /// 16-byte boundary and elements can end there; element by element otherwise, which takes several
  /// times as long.
  [[nodiscard]] cudaError_t launch(const std::byte* const* sources, std::byte* const* destinations,
                                   std::size_t elements, cudaStream_t stream) const;

  /// The same as a node of a graph, behind `count` nodes of `after`; for the current device. There
  /// must be elements. Returns the error of the runtime.
  [[nodiscard]] cudaError_t add_node(cudaGraph_t graph, const cudaGraphNode_t* after,
                                     std::size_t count, const std::byte* const* sources,
                                     std::byte* const* destinations, std::size_t elements,
                                     cudaGraphNode_t* node) const;

 private:
  /// Hands `submit` a chosen kernel, its number of blocks and its parameters.
  template <class Submit>
  [[nodiscard]] cudaError_t choose(const std::byte* const* sources, std::byte* const* destinations,
                                   std::size_t elements, Submit&& submit) const;
  template <std::size_t most, class Submit>
  [[nodiscard]] cudaError_t choose_with(const std::byte* const* sources,
                                        std::byte* const* destinations, std::size_t elements,
                                        Submit&& submit) const;
  friend DeviceFold resolve_device_fold(const FoldShape& shape);

  const TypeKernels* type_ = nullptr;
  FoldKind kind_ = FoldKind::sum;
  bool copies_ = false;
  bool all_raw_ = false;
  std::int32_t divisor_ = 1;
  std::uint32_t k_ = 0;
  std::uint32_t m_ = 0;
  std::uint64_t raw_mask_ = 0;
  std::uint64_t scalar_bits_ = 0;
};

/// Throws Error(unsupported) for more than `most_fold_operands` sources and destinations together,
/// and what `resolve_fold` throws. `shape.streaming` means nothing here.
[[nodiscard]] DeviceFold resolve_device_fold(const FoldShape& shape);

/// For tests and checks, a delay in a stream: one thread that spins for so many clock cycles of the
/// device.
[[nodiscard]] cudaError_t launch_spin(std::uint64_t cycles, cudaStream_t stream);

}  // namespace ringside::cuda
