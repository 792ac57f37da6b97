// SPDX-License-Identifier: MIT
/// A call as an executable graph.
#pragma once

#include <span>
#include <vector>

#include "ringside/collectives/executors/cuda/operands.hpp"
#include "ringside/collectives/executors/cuda/program.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/collectives/executors/cuda/scratch.hpp"

namespace ringside::cuda {

/// The operations of a program, each behind those that its steps wait for and those of the step
/// before in its stream. Made node by node: while a stream is captured no other thread may wait for
/// its device, so no stream is. `devices` by rank; `scratch` is made long enough and must live as
/// long as the graph. Throws Error(device).
[[nodiscard]] GraphExec make_graph(const Program& program, std::span<const RankCall> ranks,
                                   const std::vector<int>& devices, Scratch& scratch, CopyWay way);

}  // namespace ringside::cuda
