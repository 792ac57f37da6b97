// SPDX-License-Identifier: MIT
/// Waiting for a GPU from a rank's thread, with a limit.
#pragma once

#include <fmt/format.h>

#include <atomic>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/collectives/executors/cuda/waiting.hpp"

namespace ringside::bench {

/// Returns when all before an event, or all in a stream, is complete. Throws Error(timeout) after
/// `limit`, Error(device).
template <class Handle>
void await_device(Handle handle, Seconds limit, int rank, int device) {
  host::WaitPolicy policy;
  policy.limit = limit;
  const std::atomic<bool> never{false};
  const auto [result, found] = cuda::await_complete(handle, policy, never);
  if (result == host::WaitResult::timed_out)
    throw Error(ErrorCode::timeout,
                fmt::format("rank {}: device {} has not finished the calls after {}", rank, device,
                            format_duration(limit)))
        .at_rank(rank);
  cuda::check(found, fmt::format("rank {}: an operation of a call", rank), device);
}

}  // namespace ringside::bench
