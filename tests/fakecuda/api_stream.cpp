// SPDX-License-Identifier: MIT
/// Entry points: streams and host functions.
#include "ringside/tests/fakecuda/api.hpp"
#include "ringside/tests/fakecuda/capture.hpp"

using namespace ringside::tests::fakecuda;

namespace {

cudaError_t create(const Entry& entry, cudaStream_t* stream, unsigned flags, int priority) {
  return device_call(entry, [&](Runtime& runtime, ThreadState& thread, Runtime::Lock&) {
    if (stream == nullptr || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
    *stream = runtime.create_stream(thread.device, flags, priority).handle;
    return cudaSuccess;
  });
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  static const Entry entry("cudaStreamCreate");
  return create(entry, stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  static const Entry entry("cudaStreamCreateWithFlags");
  return create(entry, stream, flags, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  static const Entry entry("cudaStreamCreateWithPriority");
  return create(entry, stream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  static const Entry entry("cudaStreamDestroy");
  return call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    Stream* stream = runtime.streams.find(handle);
    if (stream == nullptr)
      return runtime.misuse(cudaErrorInvalidResourceHandle, "cudaStreamDestroy of no stream");
    const int device = stream->device;
    leave_capture(runtime, *stream);
    runtime.destroy_stream(*stream);
    return runtime.fault_of(device);
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  static const Entry entry("cudaStreamSynchronize");
  return stream_call(entry, handle, [](Runtime& runtime, Stream& stream, Runtime::Lock& lock) {
    if (const cudaError_t error = refuse_capturing(stream)) return error;
    if (legacy_blocked(runtime, stream)) return cudaErrorStreamCaptureImplicit;
    if (const cudaError_t error = refuse_unsafe(runtime, runtime.thread())) return error;
    const int device = stream.device;
    const Moment moment = runtime.moment_of(stream);
    runtime.wait(moment, VectorClock(stream.lane->clock), stream.lane->time, lock);
    return runtime.fault_of(device);
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  static const Entry entry("cudaStreamQuery");
  return stream_call(entry, handle, [](Runtime& runtime, Stream& stream, Runtime::Lock& lock) {
    if (const cudaError_t error = refuse_capturing(stream)) return error;
    if (legacy_blocked(runtime, stream)) return cudaErrorStreamCaptureImplicit;
    if (const cudaError_t error = refuse_unsafe(runtime, runtime.thread())) return error;
    const int device = stream.device;
    const bool over = runtime.query(stream, lock);
    const cudaError_t fault = runtime.fault_of(device);
    return fault != cudaSuccess ? fault : over ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned flags) {
  static const Entry entry("cudaStreamWaitEvent");
  return stream_call(entry, handle, [&](Runtime& runtime, Stream& stream, Runtime::Lock&) {
    Event* event = runtime.events.find(event_handle);
    if (event == nullptr)
      return runtime.misuse(cudaErrorInvalidResourceHandle, "cudaStreamWaitEvent for no event");
    if (flags != cudaEventWaitDefault) return cudaErrorInvalidValue;
    if (runtime.wait_dropped()) return cudaSuccess;
    if (stream.capturing() || event->capture != nullptr) return capture_wait(stream, *event);
    if (legacy_blocked(runtime, stream)) return cudaErrorStreamCaptureImplicit;
    if (event->recorded) runtime.wait_in_stream(stream, event->moment, event->clock, event->time);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  static const Entry entry("cudaStreamGetFlags");
  return stream_call(entry, handle, [&](Runtime&, Stream& stream, Runtime::Lock&) {
    if (flags == nullptr) return cudaErrorInvalidValue;
    *flags = stream.flags;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  static const Entry entry("cudaStreamGetPriority");
  return stream_call(entry, handle, [&](Runtime&, Stream& stream, Runtime::Lock&) {
    if (priority == nullptr) return cudaErrorInvalidValue;
    *priority = stream.priority;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  static const Entry entry("cudaStreamGetId");
  return stream_call(entry, handle, [&](Runtime&, Stream& stream, Runtime::Lock&) {
    if (id == nullptr) return cudaErrorInvalidValue;
    // Legacy streams have no number: theirs stand before all others.
    constexpr unsigned long long first = 1 << 16;
    *id =
        stream.legacy ? 1 + static_cast<unsigned long long>(stream.device) : first + stream.number;
    return cudaSuccess;
  });
}

#if CUDART_VERSION >= 12080
cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  static const Entry entry("cudaStreamGetDevice");
  return stream_call(entry, handle, [&](Runtime&, Stream& stream, Runtime::Lock&) {
    if (device == nullptr) return cudaErrorInvalidValue;
    *device = stream.device;
    return cudaSuccess;
  });
}
#endif

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  static const Entry entry("cudaLaunchHostFunc");
  return stream_call(entry, handle, [&](Runtime& runtime, Stream& stream, Runtime::Lock&) {
    if (function == nullptr) return cudaErrorInvalidValue;
    auto work = std::make_shared<Work>();
    work->kind = WorkKind::host_function;
    work->device = stream.device;
    work->function = function;
    work->data = data;
    return runtime.issue(stream, std::move(work));
  });
}

}  // extern "C"
