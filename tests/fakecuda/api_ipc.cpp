// SPDX-License-Identifier: MIT
/// Entry points: memory of other processes. As the runtime's reference has it: a process cannot
/// open what it exported itself; who opens twice gets the same address and closes twice; memory
/// must not be freed while another process has it open, which is reported. The happens-before check
/// looks at the operations of one process.
#include <unistd.h>

#include "ringside/tests/fakecuda/api.hpp"
#include "ringside/tests/fakecuda/configuration.hpp"

using namespace ringside::tests::fakecuda;

extern "C" {

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* address) {
  static const Entry entry("cudaIpcGetMemHandle");
  return device_call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    Allocation* allocation = runtime.memory.find(address);
    if (handle == nullptr || allocation == nullptr || !allocation->on_device() ||
        allocation->is_foreign())
      return cudaErrorInvalidValue;
    if (allocation->base != address)
      return runtime.misuse(cudaErrorInvalidValue, "a handle of an address inside an allocation");
    if (!runtime.memory.share(*allocation)) return cudaErrorMapBufferObjectFailed;
    ExportedName name;
    name.process = ::getpid();
    name.descriptor = allocation->exported->descriptor();
    name.number = allocation->exported->number();
    name.bytes = allocation->bytes;
    name.device = allocation->device;
    *handle = name.handle();
    return cudaSuccess;
  });
}

cudaError_t cudaIpcOpenMemHandle(void** address, cudaIpcMemHandle_t handle, unsigned flags) {
  static const Entry entry("cudaIpcOpenMemHandle");
  return device_call(entry, [&](Runtime& runtime, ThreadState& thread, Runtime::Lock&) {
    if (address == nullptr || flags != cudaIpcMemLazyEnablePeerAccess) return cudaErrorInvalidValue;
    *address = nullptr;
    const auto name = ExportedName::of(handle);
    if (!name) return cudaErrorInvalidResourceHandle;
    if (name->process == ::getpid())
      return runtime.misuse(cudaErrorDeviceUninitialized,
                            "a process opens a memory handle of its own");
    if (!is_device(runtime, name->device)) return cudaErrorInvalidResourceHandle;
    if (Allocation* known = runtime.memory.find_foreign(*name, thread.device)) {
      ++known->opened;
      *address = known->base;
      return cudaSuccess;
    }
    if (name->device != thread.device) {
      if (!may_reach(runtime.configuration, thread.device, name->device))
        return cudaErrorPeerAccessUnsupported;
      runtime.devices[thread.device].peer_access[name->device] = true;
    }
    Allocation* opened = runtime.memory.open(*name, thread.device);
    if (opened == nullptr) return cudaErrorMapBufferObjectFailed;
    *address = opened->base;
    return cudaSuccess;
  });
}

cudaError_t cudaIpcCloseMemHandle(void* address) {
  static const Entry entry("cudaIpcCloseMemHandle");
  return device_call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock& lock) {
    Allocation* allocation = runtime.memory.find(address);
    if (allocation == nullptr || allocation->base != address || !allocation->is_foreign())
      return runtime.misuse(cudaErrorInvalidValue,
                            "closing memory of another process that is not open");
    if (--allocation->opened == 0)
      runtime.release_memory(*allocation, "cudaIpcCloseMemHandle", lock);
    return cudaSuccess;
  });
}

}  // extern "C"
