// SPDX-License-Identifier: MIT
/// Waiting for a device: it is asked again and again, so that a wait has a limit and can be
/// interrupted. (To synchronise with a device that hangs takes for ever.)
#pragma once

#include <cuda_runtime_api.h>

#include "ringside/collectives/executors/host/waiting.hpp"

namespace ringside::cuda {

/// How a wait ended, and if `ready`: with what. An error of the device counts as an end.
struct Completion {
  host::WaitResult result = host::WaitResult::ready;
  cudaError_t error = cudaSuccess;
};

[[nodiscard]] inline cudaError_t query(cudaEvent_t event) { return cudaEventQuery(event); }
[[nodiscard]] inline cudaError_t query(cudaStream_t stream) { return cudaStreamQuery(stream); }

/// Returns when all before the event, or all in the stream, is complete, when the limit passes or
/// when `failed` is set. `look`: called at every poll; what it throws ends the wait.
template <class Handle, class Look>
Completion await_complete(Handle handle, const host::WaitPolicy& policy,
                          const std::atomic<bool>& failed, Look&& look) {
  Completion completion;
  const auto over = [&] {
    completion.error = query(handle);
    const bool is_over = completion.error != cudaErrorNotReady;
    if (!is_over) (void)cudaGetLastError();  // no error to be found by a later look
    look();
    return is_over;
  };
  completion.result = host::wait_until(over, policy, failed);
  return completion;
}

template <class Handle>
Completion await_complete(Handle handle, const host::WaitPolicy& policy,
                          const std::atomic<bool>& failed) {
  return await_complete(handle, policy, failed, [] {});
}

/// A limit for what should take no time at all: that of the option `timeout`, at most 10 s.
[[nodiscard]] host::WaitPolicy short_patience();

}  // namespace ringside::cuda
