// SPDX-License-Identifier: MIT
/// How long NCCL takes, simulated: the plan that NCCL runs, by kernels, with NCCL's costs of calls
/// and steps. To check the twin against published measurements, which are of NCCL, and to fit its
/// figures to new ones. What NCCL would choose is another matter (selector/nccl_model.hpp).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ringside/collectives/request.hpp"
#include "ringside/topology/model/what_if.hpp"

namespace ringside {

enum class NcclWay {
  ring,   ///< rings: all_reduce, reduce_scatter, all_gather; pipelined: broadcast, reduce
  nvls,   ///< NVLink SHARP, between boxes with trees over the network: all_reduce
  pairs,  ///< all pairs at once: all_to_all
};

/// "ring", "nvls", "pairs".
[[nodiscard]] std::string_view to_string(NcclWay way);
[[nodiscard]] std::optional<NcclWay> parse_nccl_way(std::string_view name);
/// What it does without a choice: pairs for all_to_all, else ring.
[[nodiscard]] NcclWay usual_nccl_way(Collective collective);

struct NcclCall {
  Collective collective = Collective::all_reduce;
  NcclWay way = NcclWay::ring;
  std::vector<int> gpus;  ///< of each rank, index in Topology::gpus()
  double bytes = 0;       ///< of the longest buffer of a rank: nccl-tests' size
};

/// The same machine with NCCL's costs of calls and steps, kernels for copies, and data that stream
/// through the host where there is no peer access.
[[nodiscard]] Machine as_nccl_uses(MachineDescription machine);

/// Seconds of one call on a machine of as_nccl_uses(). Throws Error(unsupported) for a collective
/// that NCCL does not do that way, or a fabric without reduction in the switch.
[[nodiscard]] double nccl_seconds(const Machine& machine, const NcclCall& call);

}  // namespace ringside
