// SPDX-License-Identifier: MIT
/// The frame around every entry point.
#pragma once

#include "ringside/tests/fakecuda/runtime.hpp"

namespace ringside::tests::fakecuda {

/// A call that can fail: counted, made to fail where a test wants that, its error remembered.
/// `body(runtime, thread, lock)` runs under the lock.
template <class Body>
cudaError_t call(const Entry& entry, Body&& body) {
  Runtime& runtime = Runtime::get();
  Runtime::Lock lock(runtime.mutex);
  ThreadState& thread = runtime.thread();
  cudaError_t error = runtime.begin_call(entry);
  if (error == cudaSuccess) {
    runtime.let_run(lock);
    error = body(runtime, thread, lock);
  }
  if (error != cudaSuccess && error != cudaErrorNotReady) thread.error = error;
  return error;
}

/// A call on the calling thread's device, which must not have failed.
template <class Body>
cudaError_t device_call(const Entry& entry, Body&& body) {
  return call(entry, [&](Runtime& runtime, ThreadState& thread, Runtime::Lock& lock) {
    const cudaError_t fault = runtime.fault_of(thread.device);
    return fault == cudaSuccess ? body(runtime, thread, lock) : fault;
  });
}

/// A call on a stream: `body(runtime, stream, lock)`.
template <class Body>
cudaError_t stream_call(const Entry& entry, cudaStream_t handle, Body&& body) {
  return call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock& lock) {
    Stream* stream = nullptr;
    const cudaError_t error = runtime.find_stream(handle, stream);
    return error == cudaSuccess ? body(runtime, *stream, lock) : error;
  });
}

[[nodiscard]] inline bool is_device(const Runtime& runtime, int device) {
  return device >= 0 && static_cast<std::size_t>(device) < runtime.devices.size();
}

}  // namespace ringside::tests::fakecuda
