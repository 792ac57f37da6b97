// SPDX-License-Identifier: MIT
/// Putting the operations of one call in streams.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ringside/collectives/executors/cuda/program.hpp"
#include "ringside/collectives/executors/cuda/scratch.hpp"
#include "ringside/collectives/executors/cuda/streams.hpp"

namespace ringside::cuda {

/// A rank's part in a call.
struct RankCall {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  /// What was put in this stream before comes before the call, and what is put there later comes
  /// after it.
  cudaStream_t stream = nullptr;
  /// There is nothing in the stream to come behind.
  bool is_idle = false;
};

/// Whether a plain copy is done by a copy engine or by a kernel.
enum class CopyWay { by_size, engine, kernel };

/// Plain copies up to this long are done by kernels unless said otherwise. Measured: see
/// bench/results. A copy of the runtime takes longer to begin.
inline constexpr std::size_t longest_kernel_copy = std::size_t{1} << 20;

/// By the option `cuda_copies`.
[[nodiscard]] CopyWay copy_way();

struct IssueSetting {
  CopyWay copies = CopyWay::by_size;
  /// Every stream that is used is joined by one of the ranks' streams, as the end of a capture
  /// demands, and begins behind one.
  bool captures = false;
};

/// Puts all steps of a program in the lanes' streams, in order, with the waits between them.
/// Throws Error(device) with the rank and the op that the runtime refused; what was put there by
/// then runs.
void issue(const Program& program, std::span<const RankCall> ranks, Streams& streams,
           Scratch& scratch, const IssueSetting& setting);

}  // namespace ringside::cuda
