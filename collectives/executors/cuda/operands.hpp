// SPDX-License-Identifier: MIT
/// What the operations of one call are, with addresses: for whoever puts them in streams or makes
/// a graph of them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/collectives/executors/cuda/program.hpp"
#include "ringside/collectives/executors/cuda/scratch.hpp"

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

/// Plain copies up to this long are done by kernels unless said otherwise. Measured on one H200, on
/// copies within the device: no difference up to 16 MiB, from 64 MiB on an engine is 4 to 7 %
/// faster. Between devices nothing was measured; there an engine leaves the multiprocessors to
/// others.
inline constexpr std::size_t longest_kernel_copy = std::size_t{1} << 20;

/// By the option `cuda_copies`.
[[nodiscard]] CopyWay copy_way();

/// A run of a step.
struct Operation {
  std::vector<const std::byte*> sources;
  std::vector<std::byte*> destinations;
  std::size_t bytes = 0;   ///< of each
  bool by_engine = false;  ///< a copy engine copies it; otherwise it is the work of a kernel
};

class Operands {
 public:
  /// `scratch` is long enough for the program, and stays as it is.
  Operands(const Program& program, std::span<const RankCall> ranks, Scratch& scratch, CopyWay way);
  /// Valid until it is called again.
  [[nodiscard]] const Operation& of(const Step& step, const Run& run);
  [[nodiscard]] std::byte* place(const Address& address) const {
    return bases_[address.base] + address.offset;
  }

 private:
  [[nodiscard]] bool by_engine(const Step& step, std::size_t bytes) const;

  const Program& program_;
  CopyWay way_;
  std::vector<std::byte*> bases_;  // by number
  Operation operation_;
};

/// An error that says at which rank and op of the plan.
[[nodiscard]] Error located(const Error& error, const Program& program, const Step& step);

}  // namespace ringside::cuda
