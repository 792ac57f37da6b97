// SPDX-License-Identifier: MIT
/// Entry points: events.
#include "ringside/tests/fakecuda/api.hpp"
#include "ringside/tests/fakecuda/capture.hpp"

using namespace ringside::tests::fakecuda;

namespace {

cudaError_t create(const Entry& entry, cudaEvent_t* event, unsigned flags) {
  return device_call(entry, [&](Runtime& runtime, ThreadState& thread, Runtime::Lock&) {
    constexpr unsigned known =
        cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    const bool shared = (flags & cudaEventInterprocess) != 0;
    if (event == nullptr || (flags & ~known) != 0 ||
        (shared && (flags & cudaEventDisableTiming) == 0))
      return cudaErrorInvalidValue;
    auto made = std::make_unique<Event>();
    made->device = thread.device;
    made->flags = flags;
    *event = runtime.events.add(std::move(made)).handle;
    return cudaSuccess;
  });
}

/// What both ways of waiting check first. An event of a capture cannot be waited for.
cudaError_t may_wait(Runtime& runtime, const ThreadState& thread, Event& event) {
  if (event.of_finished_capture()) return cudaErrorInvalidValue;
  if (event.capture != nullptr) {
    event.capture->invalidated = true;
    return cudaErrorCapturedEvent;
  }
  return refuse_unsafe(runtime, thread);
}

}  // namespace

extern "C" {

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  static const Entry entry("cudaEventCreate");
  return create(entry, event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  static const Entry entry("cudaEventCreateWithFlags");
  return create(entry, event, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  static const Entry entry("cudaEventDestroy");
  return call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    const Event* event = runtime.events.find(handle);
    if (event == nullptr)
      return runtime.misuse(cudaErrorInvalidResourceHandle, "cudaEventDestroy of no event");
    const int device = event->device;
    runtime.events.remove(handle);
    return runtime.fault_of(device);
  });
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle) {
  static const Entry entry("cudaEventRecord");
  return stream_call(entry, stream_handle, [&](Runtime& runtime, Stream& stream, Runtime::Lock&) {
    Event* event = nullptr;
    if (const cudaError_t error = runtime.find_event(handle, event)) return error;
    if (event->device != stream.device)
      return runtime.misuse(cudaErrorInvalidResourceHandle,
                            "an event of device " + std::to_string(event->device) +
                                " recorded in a stream of device " + std::to_string(stream.device));
    if (stream.capturing()) {
      if (stream.capture->invalidated) return cudaErrorStreamCaptureInvalidated;
      capture_record(stream, *event);
      return cudaSuccess;
    }
    if (legacy_blocked(runtime, stream)) return cudaErrorStreamCaptureImplicit;
    event->capture = nullptr;
    event->recorded = true;
    event->moment = runtime.moment_of(stream);
    event->clock = stream.lane->clock;
    event->time = stream.lane->time;
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  static const Entry entry("cudaEventQuery");
  return call(entry, [&](Runtime& runtime, ThreadState& thread, Runtime::Lock& lock) {
    Event* event = nullptr;
    if (const cudaError_t error = runtime.find_event(handle, event)) return error;
    if (const cudaError_t error = may_wait(runtime, thread, *event)) return error;
    if (!event->recorded) return cudaSuccess;
    const int device = event->device;
    const bool over = runtime.query(event->moment, VectorClock(event->clock), event->time, lock);
    const cudaError_t fault = runtime.fault_of(device);
    return fault != cudaSuccess ? fault : over ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  static const Entry entry("cudaEventSynchronize");
  return call(entry, [&](Runtime& runtime, ThreadState& thread, Runtime::Lock& lock) {
    Event* event = nullptr;
    if (const cudaError_t error = runtime.find_event(handle, event)) return error;
    if (const cudaError_t error = may_wait(runtime, thread, *event)) return error;
    if (!event->recorded) return cudaSuccess;
    const int device = event->device;
    runtime.wait(Moment(event->moment), VectorClock(event->clock), event->time, lock);
    return runtime.fault_of(device);
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  static const Entry entry("cudaEventElapsedTime");
  return call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    Event *from = nullptr, *to = nullptr;
    if (const cudaError_t error = runtime.find_event(start, from)) return error;
    if (const cudaError_t error = runtime.find_event(end, to)) return error;
    if (milliseconds == nullptr) return cudaErrorInvalidValue;
    const bool timed = ((from->flags | to->flags) & cudaEventDisableTiming) == 0;
    if (!timed || !from->recorded || !to->recorded || from->device != to->device)
      return cudaErrorInvalidResourceHandle;
    if (from->capture != nullptr || to->capture != nullptr) return cudaErrorCapturedEvent;
    if (!from->moment.passed() || !to->moment.passed()) return cudaErrorNotReady;
    *milliseconds = static_cast<float>((to->time - from->time) / 1000);
    return cudaSuccess;
  });
}

}  // extern "C"
