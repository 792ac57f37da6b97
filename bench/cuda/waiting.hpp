// SPDX-License-Identifier: MIT
/// Waiting for a GPU from a rank's thread, with a limit.
#pragma once

#include <fmt/format.h>

#include <atomic>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/collectives/executors/host/waiting.hpp"

namespace ringside::bench {

/// Polls until `query()` (cudaEventQuery or cudaStreamQuery of something) is no longer "not ready":
/// spins, then sleeps. Throws Error(timeout) after `limit`, Error(device).
template <class Query>
void await_device(const Query& query, Seconds limit, int rank, int device) {
  host::WaitPolicy policy;
  policy.limit = limit;
  const std::atomic<bool> never{false};
  cudaError_t found = cudaErrorNotReady;
  const auto over = [&] { return (found = query()) != cudaErrorNotReady; };
  if (host::wait_until(over, policy, never) == host::WaitResult::timed_out)
    throw Error(ErrorCode::timeout,
                fmt::format("rank {}: device {} has not finished the calls after {}", rank, device,
                            format_duration(limit)))
        .at_rank(rank);
  cuda::check(found, fmt::format("rank {}: an operation of a call", rank), device);
}

}  // namespace ringside::bench
