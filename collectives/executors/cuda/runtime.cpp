// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/cuda/runtime.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/options.hpp"
#include "ringside/collectives/executors/cuda/waiting.hpp"

namespace ringside::cuda {
namespace {

template <class Handle, class Make>
Handle make_on(int device, std::string_view what, Make&& make) {
  const DeviceGuard guard(device);
  Handle handle{};
  check(make(&handle), what, device);
  return handle;
}

/// As check; that there is no memory is the same error as on the host.
void check_allocation(cudaError_t error, std::string_view what, int device) {
  if (error == cudaErrorMemoryAllocation)
    throw Error(ErrorCode::io, error_of(error, what, device).what());
  check(error, what, device);
}

Event event_on(int device, unsigned flags) {
  return {make_on<cudaEvent_t>(
              device, "cudaEventCreateWithFlags",
              [&](cudaEvent_t* event) { return cudaEventCreateWithFlags(event, flags); }),
          device};
}

}  // namespace

Error error_of(cudaError_t error, std::string_view what, int device) {
  (void)cudaGetLastError();  // a later call's is its own; what is sticky stays
  return {
      error == cudaErrorStreamCaptureInvalidated ? ErrorCode::invalid_argument : ErrorCode::device,
      fmt::format("device {}: {}: {}", device, what, cudaGetErrorString(error))};
}

DeviceGuard::DeviceGuard(int device) {
  int current = -1;
  check(cudaGetDevice(&current), "cudaGetDevice", device);
  if (current == device) return;
  check(cudaSetDevice(device), "cudaSetDevice", device);
  before_ = current;
}

DeviceGuard::~DeviceGuard() {
  if (before_ >= 0) (void)cudaSetDevice(before_);
}

BesideCaptures::BesideCaptures(int device) {
  check(cudaThreadExchangeStreamCaptureMode(&mode_), "cudaThreadExchangeStreamCaptureMode", device);
}

BesideCaptures::~BesideCaptures() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }

host::WaitPolicy short_patience() {
  constexpr Seconds longest{10};
  host::WaitPolicy policy;
  policy.limit = std::min(longest, option<Seconds>("timeout"));
  return policy;
}

int device_count() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return count;
  (void)cudaGetLastError();
  // The codes differ: without a driver 35, with the stub of its library 34, with a driver 100.
  if (error == cudaSuccess || error == cudaErrorNoDevice)
    throw Error(ErrorCode::unsupported, "no GPU: the CUDA driver finds no device");
  if (error == cudaErrorInsufficientDriver || error == cudaErrorStubLibrary) {
    int driver = 0;
    const bool older = cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0;
    int runtime = 0;
    (void)cudaRuntimeGetVersion(&runtime);
    throw Error(
        ErrorCode::unsupported,
        older ? fmt::format("no GPU: the CUDA driver ({}.{}) is older than the runtime "
                            "({}.{})",
                            driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10)
              : std::string("no GPU: the CUDA driver is not installed"));
  }
  throw Error(ErrorCode::unsupported, fmt::format("no GPU: {}", cudaGetErrorString(error)));
}

void require_devices() { (void)device_count(); }

Stream Stream::on(int device) {
  return {make_on<cudaStream_t>(device, "cudaStreamCreateWithFlags",
                                [](cudaStream_t* stream) {
                                  return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
                                }),
          device};
}

Event Event::on(int device) { return event_on(device, cudaEventDisableTiming); }
Event Event::timed_on(int device) { return event_on(device, cudaEventDefault); }

DeviceMemory DeviceMemory::on(int device, std::size_t bytes) {
  DeviceMemory memory;
  if (bytes == 0) return memory;
  const DeviceGuard guard(device);
  void* address = nullptr;
  check_allocation(cudaMalloc(&address, bytes), fmt::format("cudaMalloc of {} bytes", bytes),
                   device);
  memory = DeviceMemory(address, device);
  memory.bytes_ = bytes;
  return memory;
}

PinnedMemory PinnedMemory::of(std::size_t bytes) {
  PinnedMemory memory;
  if (bytes == 0) return memory;
  void* address = nullptr;
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice", 0);
  check_allocation(cudaHostAlloc(&address, bytes, cudaHostAllocPortable | cudaHostAllocMapped),
                   fmt::format("cudaHostAlloc of {} bytes", bytes), device);
  memory = PinnedMemory(address, device);
  memory.bytes_ = bytes;
  return memory;
}

}  // namespace ringside::cuda
