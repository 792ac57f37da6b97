// SPDX-License-Identifier: MIT
/// What can be said of a request for GPUs without any: needs no CUDA.
#pragma once

#include "ringside/bench/request.hpp"

namespace ringside::bench {

/// Why sendrecv is not measured on GPUs.
inline constexpr auto no_sendrecv_on_gpus =
    "messages are not ordered in streams, so events cannot time them";

/// Throws Error for what cannot be measured on GPUs, or makes no sense there: unsupported for
/// buffers but warm ones, sendrecv and libraries but NCCL; bad_input for an option cuda_... whose
/// value is none.
void check_gpu_request(const BenchRequest& request);

}  // namespace ringside::bench
