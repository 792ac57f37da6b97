// SPDX-License-Identifier: MIT
/// Entry points: kernels, and what the code of nvcc calls to register and launch them.
#include <algorithm>
#include <cstring>

#include "ringside/tests/fakecuda/api.hpp"
#include "ringside/tests/fakecuda/api_work.hpp"
#include "ringside/tests/fakecuda/capture.hpp"

using namespace ringside::tests::fakecuda;

namespace {

/// As CUDA 13 says it; cudaErrorInvalidConfiguration was the older word for it.
cudaError_t check_shape(dim3 grid, dim3 block) {
  const std::size_t threads = std::size_t{block.x} * block.y * block.z;
  const bool grid_fits = grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= 2147483647u &&
                         grid.y <= 65535 && grid.z <= 65535;
  return grid_fits && threads > 0 && threads <= 1024 && block.z <= 64 ? cudaSuccess
                                                                      : cudaErrorInvalidValue;
}

cudaError_t launch(const Entry& entry, const void* stub, dim3 grid, dim3 block, void** arguments,
                   cudaStream_t handle) {
  return stream_call(entry, handle, [&](Runtime& runtime, Stream& stream, Runtime::Lock&) {
    const int device = runtime.thread().device;
    if (stream.device != device)
      return runtime.misuse(cudaErrorInvalidResourceHandle,
                            "a kernel launched in a stream of device " +
                                std::to_string(stream.device) + " while device " +
                                std::to_string(device) + " is current");
    std::shared_ptr<Work> work;
    const cudaError_t error = kernel_work(runtime, stub, grid, block, arguments, device, work);
    if (error == cudaErrorInvalidValue && stream.capturing()) stream.capture->invalidated = true;
    return error == cudaSuccess ? runtime.issue(stream, std::move(work)) : error;
  });
}

}  // namespace

namespace ringside::tests::fakecuda {

cudaError_t kernel_work(Runtime& runtime, const void* stub, dim3 grid, dim3 block, void** arguments,
                        int device, std::shared_ptr<Work>& work) {
  if (const cudaError_t error = check_shape(grid, block))
    return runtime.misuse(error, "a kernel launched with an impossible grid");
  const HostKernel* kernel = runtime.kernels.find(stub);
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  work = std::make_shared<Work>();
  work->kind = WorkKind::kernel;
  work->device = device;
  work->kernel = kernel;
  work->grid = grid;
  work->block = block;
  const auto* parameter = static_cast<const std::byte*>(arguments[0]);
  work->parameter.assign(parameter, parameter + kernel->parameter_bytes);
  kernel->accesses(work->parameter.data(), work->accesses);
  return cudaSuccess;
}

}  // namespace ringside::tests::fakecuda

extern "C" {

cudaError_t cudaLaunchKernel(const void* stub, dim3 grid, dim3 block, void** arguments, std::size_t,
                             cudaStream_t stream) {
  static const Entry entry("cudaLaunchKernel");
  return launch(entry, stub, grid, block, arguments, stream);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* stub) {
  static const Entry entry("cudaFuncGetAttributes");
  return device_call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    if (runtime.kernels.name_of(stub) == nullptr) return cudaErrorInvalidDeviceFunction;
    *attributes = {};
    attributes->maxThreadsPerBlock = 1024;
    attributes->binaryVersion = attributes->ptxVersion = 90;
    return cudaSuccess;
  });
}

cudaError_t cudaFuncSetAttribute(const void* stub, cudaFuncAttribute, int) {
  static const Entry entry("cudaFuncSetAttribute");
  return device_call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    return runtime.kernels.name_of(stub) == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* stub,
                                                          int block_size, std::size_t) {
  static const Entry entry("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return device_call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    if (blocks == nullptr || block_size <= 0) return cudaErrorInvalidValue;
    if (runtime.kernels.name_of(stub) == nullptr) return cudaErrorInvalidDeviceFunction;
    *blocks = std::min(32, 2048 / block_size);
    return cudaSuccess;
  });
}

// What nvcc's objects call. Their shapes are in crt/host_runtime.h and crt/device_functions.h.

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t, cudaStream_t stream) {
  static const Entry entry("cudaLaunchKernel");
  return launch(entry, kernel, grid, block, arguments, stream);
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
  // The handle is the stub itself.
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(stub));
  return cudaSuccess;
}

void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  (void)Runtime::get();
  return &handle;
}

void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }

void __cudaRegisterFunction(void**, const char* stub, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
  Runtime& runtime = Runtime::get();
  const Runtime::Lock lock(runtime.mutex);
  runtime.kernels.announce(stub, name);
}

void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared,
                                     cudaStream_t stream) {
  Runtime& runtime = Runtime::get();
  const Runtime::Lock lock(runtime.mutex);
  runtime.thread().configurations.push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  Runtime& runtime = Runtime::get();
  const Runtime::Lock lock(runtime.mutex);
  auto& configurations = runtime.thread().configurations;
  if (configurations.empty()) return cudaErrorMissingConfiguration;
  const auto configuration = configurations.back();
  configurations.pop_back();
  *grid = configuration.grid;
  *block = configuration.block;
  *shared = configuration.shared;
  *static_cast<cudaStream_t*>(stream) = configuration.stream;
  return cudaSuccess;
}

}  // extern "C"
