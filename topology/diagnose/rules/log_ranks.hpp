// SPDX-License-Identifier: MIT
/// Which GPUs the ranks of NCCL's log are on.
#pragma once

#include <optional>
#include <vector>

#include "ringside/topology/diagnose/evidence.hpp"

namespace ringside {

/// By rank the numbers of the GPUs, as the log's "5[2]" and CUDA_VISIBLE_DEVICES tell, else the
/// ranks themselves. Nothing where there are several hosts, where ranks share a GPU, or where a GPU
/// is not there.
[[nodiscard]] std::optional<std::vector<int>> gpus_of_ranks(const Evidence& evidence,
                                                            const NcclLog& log);

}  // namespace ringside
