// SPDX-License-Identifier: MIT
/// Putting the operations of one call in streams.
#pragma once

#include <cuda_runtime_api.h>

#include <span>

#include "ringside/collectives/executors/cuda/checks.hpp"
#include "ringside/collectives/executors/cuda/operands.hpp"
#include "ringside/collectives/executors/cuda/program.hpp"
#include "ringside/collectives/executors/cuda/scratch.hpp"
#include "ringside/collectives/executors/cuda/streams.hpp"

namespace ringside::cuda {

struct IssueSetting {
  CopyWay copies = CopyWay::by_size;
  /// Every stream that is used is joined by one of the ranks' streams, as the end of a capture
  /// demands, and begins behind one.
  bool captures = false;
  /// Where the sums of a program with checksums come to; all before in it is compared.
  SumTables* sums = nullptr;
};

/// Puts all steps of a program in the lanes' streams, in order, with the waits between them.
/// Throws Error(device) with the rank and the op that the runtime refused; what was put there by
/// then runs.
void issue(const Program& program, std::span<const RankCall> ranks, Streams& streams,
           Scratch& scratch, const IssueSetting& setting);

}  // namespace ringside::cuda
