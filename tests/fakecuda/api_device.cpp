// SPDX-License-Identifier: MIT
/// Entry points: devices, peers, versions.
#include <cstdio>
#include <cstring>

#include "ringside/tests/fakecuda/api.hpp"
#include "ringside/tests/fakecuda/capture.hpp"
#include "ringside/tests/fakecuda/configuration.hpp"

using namespace ringside::tests::fakecuda;

namespace {

/// The compute capability of the virtual devices.
constexpr int capability_major = 9, capability_minor = 0;

int attribute(const Runtime& runtime, cudaDeviceAttr attr, int device) {
  switch (attr) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
      return 1024;
    case cudaDevAttrMaxBlockDimZ:
      return 64;
    case cudaDevAttrMaxGridDimX:
      return 2147483647;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      return 65535;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return 48 << 10;
    case cudaDevAttrWarpSize:
      return 32;
    case cudaDevAttrMultiProcessorCount:
      return 16;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return 2048;
    case cudaDevAttrL2CacheSize:
      return 4 << 20;
    case cudaDevAttrClockRate:
      return 1000000;
    case cudaDevAttrMemoryClockRate:
      return 1000000;
    case cudaDevAttrGlobalMemoryBusWidth:
      return 4096;
    case cudaDevAttrAsyncEngineCount:
      return 3;
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrIpcEventSupport:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
      return 1;
    case cudaDevAttrComputeCapabilityMajor:
      return capability_major;
    case cudaDevAttrComputeCapabilityMinor:
      return capability_minor;
    case cudaDevAttrPciBusId:
      return device + 1;
    default:
      (void)runtime;
      return 0;
  }
}

bool reachable(const Runtime& runtime, int from, int to) {
  return may_reach(runtime.configuration, from, to);
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  static const Entry entry("cudaGetDeviceCount");
  if (count != nullptr) *count = 0;
  return call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    if (count == nullptr) return cudaErrorInvalidValue;
    *count = static_cast<int>(runtime.devices.size());
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  static const Entry entry("cudaSetDevice");
  return call(entry, [&](Runtime& runtime, ThreadState& thread, Runtime::Lock&) {
    if (!is_device(runtime, device)) return cudaErrorInvalidDevice;
    thread.device = device;
    return runtime.fault_of(device);
  });
}

cudaError_t cudaGetDevice(int* device) {
  static const Entry entry("cudaGetDevice");
  return call(entry, [&](Runtime&, ThreadState& thread, Runtime::Lock&) {
    if (device == nullptr) return cudaErrorInvalidValue;
    *device = thread.device;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  static const Entry entry("cudaGetDeviceProperties");
  return call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    if (properties == nullptr) return cudaErrorInvalidValue;
    if (!is_device(runtime, device)) return cudaErrorInvalidDevice;
    *properties = {};
    cudaDeviceProp& p = *properties;
    std::snprintf(p.name, sizeof p.name, "virtual device %d", device);
    p.uuid.bytes[0] = 'v';
    p.uuid.bytes[15] = static_cast<char>(device);
    p.totalGlobalMem = runtime.configuration.memory;
    p.sharedMemPerBlock = attribute(runtime, cudaDevAttrMaxSharedMemoryPerBlock, device);
    p.regsPerBlock = 65536;
    p.warpSize = 32;
    p.maxThreadsPerBlock = p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
    p.maxThreadsDim[2] = 64;
    p.maxGridSize[0] = attribute(runtime, cudaDevAttrMaxGridDimX, device);
    p.maxGridSize[1] = p.maxGridSize[2] = attribute(runtime, cudaDevAttrMaxGridDimY, device);
    p.major = capability_major;
    p.minor = capability_minor;
    p.multiProcessorCount = attribute(runtime, cudaDevAttrMultiProcessorCount, device);
    p.maxThreadsPerMultiProcessor =
        attribute(runtime, cudaDevAttrMaxThreadsPerMultiProcessor, device);
    p.canMapHostMemory = p.concurrentKernels = p.unifiedAddressing = p.streamPrioritiesSupported =
        1;
    p.hostRegisterSupported = p.canUseHostPointerForRegisteredMem = 1;
    p.pciBusID = device + 1;
    p.asyncEngineCount = attribute(runtime, cudaDevAttrAsyncEngineCount, device);
    p.memoryBusWidth = attribute(runtime, cudaDevAttrGlobalMemoryBusWidth, device);
    p.l2CacheSize = attribute(runtime, cudaDevAttrL2CacheSize, device);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attr, int device) {
  static const Entry entry("cudaDeviceGetAttribute");
  return call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    if (value == nullptr) return cudaErrorInvalidValue;
    if (!is_device(runtime, device)) return cudaErrorInvalidDevice;
    *value = attribute(runtime, attr, device);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  static const Entry entry("cudaDeviceGetPCIBusId");
  return call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    if (id == nullptr || length <= 0) return cudaErrorInvalidValue;
    if (!is_device(runtime, device)) return cudaErrorInvalidDevice;
    std::snprintf(id, static_cast<std::size_t>(length), "0000:%02X:00.0", device + 1);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* id) {
  static const Entry entry("cudaDeviceGetByPCIBusId");
  return call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    unsigned domain = 0, bus = 0;
    if (device == nullptr || id == nullptr || std::sscanf(id, "%x:%x", &domain, &bus) != 2)
      return cudaErrorInvalidValue;
    if (domain != 0 || bus == 0 || bus > runtime.devices.size()) return cudaErrorInvalidDevice;
    *device = static_cast<int>(bus) - 1;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  static const Entry entry("cudaDeviceCanAccessPeer");
  return call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    if (can == nullptr) return cudaErrorInvalidValue;
    if (!is_device(runtime, device) || !is_device(runtime, peer)) return cudaErrorInvalidDevice;
    *can = reachable(runtime, device, peer) ? 1 : 0;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attr, int from, int to) {
  static const Entry entry("cudaDeviceGetP2PAttribute");
  return call(entry, [&](Runtime& runtime, ThreadState&, Runtime::Lock&) {
    if (value == nullptr) return cudaErrorInvalidValue;
    if (!is_device(runtime, from) || !is_device(runtime, to) || from == to)
      return cudaErrorInvalidDevice;
    *value = attr == cudaDevP2PAttrAccessSupported && reachable(runtime, from, to) ? 1 : 0;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  static const Entry entry("cudaDeviceEnablePeerAccess");
  return device_call(entry, [&](Runtime& runtime, ThreadState& thread, Runtime::Lock&) {
    if (flags != 0) return cudaErrorInvalidValue;
    if (!is_device(runtime, peer)) return cudaErrorInvalidDevice;
    if (peer == thread.device || !reachable(runtime, thread.device, peer))
      return cudaErrorPeerAccessUnsupported;
    auto&& enabled = runtime.devices[thread.device].peer_access[peer];
    if (enabled) return cudaErrorPeerAccessAlreadyEnabled;
    if (const cudaError_t error = refuse_unsafe(runtime, thread)) return error;
    enabled = true;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  static const Entry entry("cudaDeviceDisablePeerAccess");
  return device_call(entry, [&](Runtime& runtime, ThreadState& thread, Runtime::Lock&) {
    if (!is_device(runtime, peer)) return cudaErrorInvalidDevice;
    auto&& enabled = runtime.devices[thread.device].peer_access[peer];
    if (!enabled) return cudaErrorPeerAccessNotEnabled;
    if (const cudaError_t error = refuse_unsafe(runtime, thread)) return error;
    enabled = false;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize() {
  static const Entry entry("cudaDeviceSynchronize");
  return device_call(entry, [&](Runtime& runtime, ThreadState& thread, Runtime::Lock& lock) {
    if (const cudaError_t error = refuse_unsafe(runtime, thread)) return error;
    if (const cudaError_t error = refuse_capturing_device(runtime, thread.device)) return error;
    runtime.synchronize_device(thread.device, lock);
    return runtime.fault_of(thread.device);
  });
}

cudaError_t cudaDeviceReset() {
  static const Entry entry("cudaDeviceReset");
  return call(entry, [&](Runtime& runtime, ThreadState& thread, Runtime::Lock& lock) {
    if (const cudaError_t error = refuse_unsafe(runtime, thread)) return error;
    runtime.synchronize_device(thread.device, lock);
    runtime.reset_device(thread.device);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  static const Entry entry("cudaDeviceGetStreamPriorityRange");
  return device_call(entry, [&](Runtime&, ThreadState&, Runtime::Lock&) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;  // as on Hopper
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  static const Entry entry("cudaMemGetInfo");
  return device_call(entry, [&](Runtime& runtime, ThreadState& thread, Runtime::Lock&) {
    if (free == nullptr || total == nullptr) return cudaErrorInvalidValue;
    *total = runtime.configuration.memory;
    *free = *total - runtime.memory.used(thread.device);
    return cudaSuccess;
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  static const Entry entry("cudaDriverGetVersion");
  return call(entry, [&](Runtime&, ThreadState&, Runtime::Lock&) {
    if (version == nullptr) return cudaErrorInvalidValue;
    *version = CUDART_VERSION;
    return cudaSuccess;
  });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  static const Entry entry("cudaRuntimeGetVersion");
  return call(entry, [&](Runtime&, ThreadState&, Runtime::Lock&) {
    if (version == nullptr) return cudaErrorInvalidValue;
    *version = CUDART_VERSION;
    return cudaSuccess;
  });
}

}  // extern "C"
