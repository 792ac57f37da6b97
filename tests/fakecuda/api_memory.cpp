// SPDX-License-Identifier: MIT
/// Entry points: memory that devices reach.
#include <cstring>

#include "ringside/tests/fakecuda/api.hpp"
#include "ringside/tests/fakecuda/capture.hpp"

using namespace ringside::tests::fakecuda;

namespace {

cudaError_t allocate_pinned(const Entry& entry, void** address, std::size_t bytes, unsigned flags) {
  return device_call(entry, [&](Runtime& runtime, ThreadState& thread, Runtime::Lock&) {
    constexpr unsigned known =
        cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    if (address == nullptr || (flags & ~known) != 0) return cudaErrorInvalidValue;
    if (const cudaError_t error = refuse_unsafe(runtime, thread)) return error;
    *address = nullptr;
    if (bytes == 0) return cudaSuccess;
    Allocation* allocation = runtime.memory.allocate(MemoryKind::pinned, thread.device, bytes);
    if (allocation == nullptr) return cudaErrorMemoryAllocation;
    allocation->flags = flags;
    *address = allocation->base;
    return cudaSuccess;
  });
}

cudaError_t release(const Entry& entry, void* address, MemoryKind kind, cudaError_t unknown) {
  return call(entry, [&](Runtime& runtime, ThreadState& thread, Runtime::Lock& lock) {
    if (const cudaError_t error = refuse_unsafe(runtime, thread)) return error;
    if (address == nullptr) return runtime.fault_of(thread.device);
    Allocation* allocation = runtime.memory.find(address);
    if (allocation == nullptr || allocation->base != address || allocation->kind != kind)
      return runtime.misuse(unknown, "release of memory that was not allocated so, or twice");
    if (allocation->is_foreign())
      return runtime.misuse(unknown, "release of memory that is open from another process");
    if (allocation->exported && !allocation->exported->openers().empty())
      (void)runtime.misuse(cudaErrorUnknown,
                           "release of memory that another process has open, which is undefined");
    const int device = allocation->device;
    const char* name = kind == MemoryKind::device   ? "cudaFree"
                       : kind == MemoryKind::pinned ? "cudaFreeHost"
                                                    : "cudaHostUnregister";
    runtime.release_memory(*allocation, name, lock);
    // What the owner's context does, and what the calling thread's does: either may have failed.
    const cudaError_t fault = runtime.fault_of(device);
    return fault == cudaSuccess ? runtime.fault_of(thread.device) : fault;
  });
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** address, std::size_t bytes) {
  static const Entry entry("cudaMalloc");
  return device_call(entry, [&](Runtime& runtime, ThreadState& thread, Runtime::Lock&) {
    if (address == nullptr) return cudaErrorInvalidValue;
    if (const cudaError_t error = refuse_unsafe(runtime, thread)) return error;
    *address = nullptr;
    if (bytes == 0) return cudaSuccess;
    const std::size_t used = runtime.memory.used(thread.device);
    if (bytes > runtime.configuration.memory - used) return cudaErrorMemoryAllocation;
    Allocation* allocation = runtime.memory.allocate(MemoryKind::device, thread.device, bytes);
    if (allocation == nullptr) return cudaErrorMemoryAllocation;
    *address = allocation->base;
    return cudaSuccess;
  });
}

cudaError_t cudaFree(void* address) {
  static const Entry entry("cudaFree");
  return release(entry, address, MemoryKind::device, cudaErrorInvalidValue);
}

cudaError_t cudaMallocHost(void** address, std::size_t bytes) {
  static const Entry entry("cudaMallocHost");
  return allocate_pinned(entry, address, bytes, cudaHostAllocDefault);
}

cudaError_t cudaHostAlloc(void** address, std::size_t bytes, unsigned flags) {
  static const Entry entry("cudaHostAlloc");
  return allocate_pinned(entry, address, bytes, flags);
}

cudaError_t cudaFreeHost(void* address) {
  static const Entry entry("cudaFreeHost");
  return release(entry, address, MemoryKind::pinned, cudaErrorInvalidValue);
}

cudaError_t cudaHostRegister(void* address, std::size_t bytes, unsigned flags) {
  static const Entry entry("cudaHostRegister");
  return device_call(entry, [&](Runtime& runtime, ThreadState& thread, Runtime::Lock&) {
    constexpr unsigned known = cudaHostRegisterPortable | cudaHostRegisterMapped;
    if (address == nullptr || bytes == 0 || (flags & ~known) != 0) return cudaErrorInvalidValue;
    if (const cudaError_t error = refuse_unsafe(runtime, thread)) return error;
    Allocation* allocation = runtime.memory.adopt(address, bytes, thread.device);
    if (allocation == nullptr) return cudaErrorHostMemoryAlreadyRegistered;
    allocation->flags = flags;
    return cudaSuccess;
  });
}

cudaError_t cudaHostUnregister(void* address) {
  static const Entry entry("cudaHostUnregister");
  return release(entry, address, MemoryKind::registered, cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaHostGetDevicePointer(void** device_address, void* address, unsigned flags) {
  static const Entry entry("cudaHostGetDevicePointer");
  return device_call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    if (device_address == nullptr || flags != 0) return cudaErrorInvalidValue;
    const Allocation* allocation = runtime.memory.find(address);
    if (allocation == nullptr || allocation->on_device()) return cudaErrorInvalidValue;
    *device_address = address;
    return cudaSuccess;
  });
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* address) {
  static const Entry entry("cudaHostGetFlags");
  return device_call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    const Allocation* allocation = runtime.memory.find(address);
    if (flags == nullptr || allocation == nullptr || allocation->on_device())
      return cudaErrorInvalidValue;
    *flags = allocation->flags | cudaHostAllocMapped;  // on by default with unified addresses
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  static const Entry entry("cudaPointerGetAttributes");
  return device_call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    *attributes = {};
    const Allocation* allocation = runtime.memory.find(address);
    if (allocation == nullptr) {
      attributes->type = cudaMemoryTypeUnregistered;
      attributes->device = -2;  // as the runtime says for memory it does not know
      attributes->hostPointer = const_cast<void*>(address);
      return cudaSuccess;
    }
    attributes->type = allocation->on_device() ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
    attributes->device = allocation->device;
    attributes->devicePointer = const_cast<void*>(address);
    attributes->hostPointer = allocation->on_device() ? nullptr : const_cast<void*>(address);
    return cudaSuccess;
  });
}

}  // extern "C"
