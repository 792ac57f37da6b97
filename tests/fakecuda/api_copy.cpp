// SPDX-License-Identifier: MIT
/// Entry points: copies and sets. A pageable source is taken when the call is made, as the runtime
/// stages it; a pageable destination makes the call wait. The comments on "API synchronization
/// behavior" in the runtime's reference are the specification.
#include <cstring>

#include "ringside/tests/fakecuda/api.hpp"
#include "ringside/tests/fakecuda/api_work.hpp"
#include "ringside/tests/fakecuda/capture.hpp"

using namespace ringside::tests::fakecuda;

namespace {

/// One side of a copy.
struct Side {
  const std::byte* address = nullptr;
  const Allocation* allocation = nullptr;  ///< none: pageable memory
  [[nodiscard]] int device() const {
    return allocation != nullptr && allocation->on_device() ? allocation->device : host;
  }
  [[nodiscard]] bool pageable() const { return allocation == nullptr; }
  [[nodiscard]] bool holds(std::size_t bytes) const {
    return allocation == nullptr ||
           reinterpret_cast<std::uintptr_t>(address) + bytes <= allocation->end();
  }
};

struct Copy {
  Side to, from;
  std::size_t bytes = 0;
};

Side side(Runtime& runtime, const void* address) {
  return {static_cast<const std::byte*>(address), runtime.memory.find(address)};
}

/// Whether the sides are what the direction says. Pinned memory is reached by both.
bool agrees(const Copy& copy, cudaMemcpyKind kind) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind == cudaMemcpyDefault) return true;
  return (to_device ? !copy.to.pageable() : copy.to.device() == host) &&
         (from_device ? !copy.from.pageable() : copy.from.device() == host);
}

cudaError_t check(Runtime& runtime, const Copy& copy, cudaMemcpyKind kind) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
    return cudaErrorInvalidMemcpyDirection;
  if (copy.to.address == nullptr || copy.from.address == nullptr) return cudaErrorInvalidValue;
  if (!agrees(copy, kind))
    return runtime.misuse(cudaErrorInvalidValue,
                          "a copy whose addresses are not what its direction says");
  if (!copy.to.holds(copy.bytes) || !copy.from.holds(copy.bytes))
    return runtime.misuse(cudaErrorInvalidValue, "a copy behind the end of an allocation");
  return cudaSuccess;
}

std::shared_ptr<Work> work_of(Runtime& runtime, const Copy& copy, int device, bool stage) {
  auto work = std::make_shared<Work>();
  work->kind = WorkKind::copy;
  work->device = device;
  work->destination = const_cast<std::byte*>(copy.to.address);
  work->source = copy.from.address;
  work->bytes = copy.bytes;
  work->destination_device = copy.to.device();
  work->source_device = copy.from.device();
  if (work->destination_device != host && work->source_device != host)
    work->peer_access =
        runtime.devices[work->source_device].peer_access[work->destination_device] ||
        runtime.devices[work->destination_device].peer_access[work->source_device];
  if (stage && copy.from.pageable()) {
    work->staged.assign(copy.from.address, copy.from.address + copy.bytes);
    work->source = work->staged.data();
  }
  if (!copy.from.pageable()) work->accesses.push_back({copy.from.address, copy.bytes, false});
  if (!copy.to.pageable()) work->accesses.push_back({copy.to.address, copy.bytes, true});
  return work;
}

/// Waits for all that the stream has been given.
cudaError_t join(Runtime& runtime, Stream& stream, Runtime::Lock& lock) {
  const int device = stream.device;
  const Moment moment = runtime.moment_of(stream);
  runtime.wait(moment, VectorClock(stream.lane->clock), stream.lane->time, lock);
  return runtime.fault_of(device);
}

cudaError_t copy_async(Runtime& runtime, const Copy& copy, Stream& stream, Runtime::Lock& lock) {
  if (copy.bytes == 0) return cudaSuccess;
  const bool captured = stream.capturing();
  const cudaError_t error = runtime.issue(stream, work_of(runtime, copy, stream.device, !captured));
  if (error != cudaSuccess || captured || !copy.to.pageable()) return error;
  return join(runtime, stream, lock);
}

/// In the legacy stream. Device to device does not wait, nor does a pageable source for the last
/// leg of its way. While the thread captures it is refused, as the guide has it of the legacy
/// stream; CUDA 13 lets it pass beside captures of non-blocking streams.
cudaError_t copy_blocking(Runtime& runtime, const ThreadState& thread, const Copy& copy,
                          Runtime::Lock& lock) {
  if (const cudaError_t error = refuse_unsafe(runtime, thread)) return error;
  if (copy.bytes == 0) return cudaSuccess;
  Stream& stream = runtime.devices[thread.device].legacy;
  const bool between_devices = copy.to.device() != host && copy.from.device() != host;
  if (copy.from.pageable() && copy.to.device() != host) {
    if (const cudaError_t error = join(runtime, stream, lock)) return error;
  }
  const cudaError_t error = runtime.issue(stream, work_of(runtime, copy, stream.device, true));
  if (error != cudaSuccess || between_devices || (copy.from.pageable() && copy.to.device() != host))
    return error;
  return join(runtime, stream, lock);
}

cudaError_t check_peers(Runtime& runtime, const Copy& copy, int to, int from) {
  if (!is_device(runtime, to) || !is_device(runtime, from)) return cudaErrorInvalidDevice;
  if (const cudaError_t error = check(runtime, copy, cudaMemcpyDefault)) return error;
  if (copy.to.device() != to || copy.from.device() != from)
    return runtime.misuse(cudaErrorInvalidValue, "a peer copy between other devices than it says");
  const cudaError_t fault = runtime.fault_of(to);
  return fault == cudaSuccess ? runtime.fault_of(from) : fault;
}

cudaError_t set(Runtime& runtime, void* address, int value, std::size_t bytes, Stream& stream) {
  if (bytes == 0) return cudaSuccess;
  const Side to = side(runtime, address);
  if (to.pageable() || !to.holds(bytes))
    return runtime.misuse(cudaErrorInvalidValue, "a set outside of an allocation");
  auto work = std::make_shared<Work>();
  work->kind = WorkKind::set;
  work->device = stream.device;
  work->destination = static_cast<std::byte*>(address);
  work->destination_device = to.device();
  work->bytes = bytes;
  work->value = value;
  work->accesses.push_back({address, bytes, true});
  return runtime.issue(stream, std::move(work));
}

}  // namespace

namespace ringside::tests::fakecuda {

cudaError_t copy_work(Runtime& runtime, void* to, const void* from, std::size_t bytes,
                      cudaMemcpyKind kind, int device, std::shared_ptr<Work>& work) {
  const Copy copy{side(runtime, to), side(runtime, from), bytes};
  if (bytes == 0) return cudaErrorInvalidValue;
  if (const cudaError_t error = check(runtime, copy, kind)) return error;
  work = work_of(runtime, copy, device, false);
  return cudaSuccess;
}

}  // namespace ringside::tests::fakecuda

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  static const Entry entry("cudaMemcpy");
  return device_call(entry, [&](Runtime& runtime, ThreadState& thread, Runtime::Lock& lock) {
    const Copy copy{side(runtime, to), side(runtime, from), bytes};
    if (bytes == 0) return cudaSuccess;
    if (const cudaError_t error = check(runtime, copy, kind)) return error;
    return copy_blocking(runtime, thread, copy, lock);
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t handle) {
  static const Entry entry("cudaMemcpyAsync");
  return stream_call(entry, handle, [&](Runtime& runtime, Stream& stream, Runtime::Lock& lock) {
    const Copy copy{side(runtime, to), side(runtime, from), bytes};
    if (bytes == 0) return cudaSuccess;
    if (const cudaError_t error = check(runtime, copy, kind)) return error;
    return copy_async(runtime, copy, stream, lock);
  });
}

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                           std::size_t bytes) {
  static const Entry entry("cudaMemcpyPeer");
  return device_call(entry, [&](Runtime& runtime, ThreadState& thread, Runtime::Lock& lock) {
    const Copy copy{side(runtime, to), side(runtime, from), bytes};
    if (bytes == 0) return cudaSuccess;
    if (const cudaError_t error = check_peers(runtime, copy, to_device, from_device)) return error;
    return copy_blocking(runtime, thread, copy, lock);
  });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                std::size_t bytes, cudaStream_t handle) {
  static const Entry entry("cudaMemcpyPeerAsync");
  return stream_call(entry, handle, [&](Runtime& runtime, Stream& stream, Runtime::Lock& lock) {
    const Copy copy{side(runtime, to), side(runtime, from), bytes};
    if (bytes == 0) return cudaSuccess;
    if (const cudaError_t error = check_peers(runtime, copy, to_device, from_device)) return error;
    if (const cudaError_t error = refuse_capturing(stream)) return error;  // unlike cudaMemcpyAsync
    return copy_async(runtime, copy, stream, lock);
  });
}

cudaError_t cudaMemset(void* address, int value, std::size_t bytes) {
  static const Entry entry("cudaMemset");
  return device_call(entry, [&](Runtime& runtime, ThreadState& thread, Runtime::Lock& lock) {
    if (const cudaError_t error = refuse_unsafe(runtime, thread)) return error;
    Stream& stream = runtime.devices[thread.device].legacy;
    const cudaError_t error = set(runtime, address, value, bytes, stream);
    const bool pinned =
        error == cudaSuccess && bytes > 0 && side(runtime, address).device() == host;
    return pinned ? join(runtime, stream, lock) : error;  // device memory: asynchronous
  });
}

cudaError_t cudaMemsetAsync(void* address, int value, std::size_t bytes, cudaStream_t handle) {
  static const Entry entry("cudaMemsetAsync");
  return stream_call(entry, handle, [&](Runtime& runtime, Stream& stream, Runtime::Lock&) {
    return set(runtime, address, value, bytes, stream);
  });
}

}  // extern "C"
