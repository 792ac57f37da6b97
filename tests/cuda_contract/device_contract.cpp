// SPDX-License-Identifier: MIT
/// Devices, errors, memory.
#include <cstdlib>
#include <memory>

#include "ringside/tests/cuda_contract/contract.hpp"

namespace ringside::tests {
namespace {

using DeviceContract = Contract;

TEST_F(DeviceContract, AnErrorIsRememberedOnceForItsThread) {
  EXPECT_EQ(cudaSetDevice(devices()), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  int device = -1;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 0);
}

TEST_F(DeviceContract, ErrorsHaveNamesAndWords) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorStreamCaptureUnjoined), "cudaErrorStreamCaptureUnjoined");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorStreamCaptureUnjoined),
               "capturing stream has unjoined work");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorIllegalAddress),
               "an illegal memory access was encountered");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorNoDevice), "no CUDA-capable device is detected");
  EXPECT_STREQ(cudaGetErrorString(cudaSuccess), "no error");
}

TEST_F(DeviceContract, PropertiesAndAttributesAgree) {
  cudaDeviceProp properties;
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_EQ(std::string(properties.name).starts_with("virtual"), on_double());
  EXPECT_EQ(properties.unifiedAddressing, 1);
  EXPECT_EQ(properties.warpSize, 32);
  int value = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  EXPECT_EQ(value, properties.multiProcessorCount);
  ASSERT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
  EXPECT_EQ(value, properties.major);
  ASSERT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMaxGridDimX, 0), cudaSuccess);
  EXPECT_EQ(value, 2147483647);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, devices()), cudaErrorInvalidDevice);
  char id[32] = "";
  ASSERT_EQ(cudaDeviceGetPCIBusId(id, sizeof id, 0), cudaSuccess);
  int device = -1;
  ASSERT_EQ(cudaDeviceGetByPCIBusId(&device, id), cudaSuccess);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(std::string(id).size(), 12u) << id;  // 0000:01:00.0
  ASSERT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrPageableMemoryAccess, 0), cudaSuccess);
  observe("pageable memory access", value);
}

TEST_F(DeviceContract, VersionsAreKnown) {
  int driver = 0, runtime = 0;
  EXPECT_EQ(cudaDriverGetVersion(&driver), cudaSuccess);
  EXPECT_EQ(cudaRuntimeGetVersion(&runtime), cudaSuccess);
  EXPECT_EQ(runtime / 1000, CUDART_VERSION / 1000);
  EXPECT_GE(driver / 1000, runtime / 1000);
}

TEST_F(DeviceContract, ADeviceIsNotItsOwnPeer) {
  int can = -1;
  observe("cudaDeviceCanAccessPeer of itself", cudaDeviceCanAccessPeer(&can, 0, 0));
  observe("cudaDeviceCanAccessPeer of itself, answer", can);
  const cudaError_t error = cudaDeviceEnablePeerAccess(0, 0);
  EXPECT_NE(error, cudaSuccess);
  observe("cudaDeviceEnablePeerAccess to itself", error);
  EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, devices()), cudaErrorInvalidDevice);
  (void)cudaGetLastError();
}

TEST_F(DeviceContract, PeerAccessIsEnabledOnceInEachDirection) {
  int can = 0;
  if (devices() < 2 || cudaDeviceCanAccessPeer(&can, 0, 1) != cudaSuccess || can == 0) return;
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaSuccess);
  (void)cudaGetLastError();
}

TEST_F(DeviceContract, MemoryIsAlignedAndKnown) {
  std::int32_t* data = device_memory(100);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 256, 0u);
  cudaPointerAttributes attributes;
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, data + 7), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 0);
  EXPECT_EQ(attributes.devicePointer, data + 7);
  EXPECT_EQ(attributes.hostPointer, nullptr);
  std::size_t free = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_LE(free, total);
}

TEST_F(DeviceContract, PinnedMemoryHasOneAddressForAll) {
  void* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 4096), cudaSuccess);
  cudaPointerAttributes attributes;
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, pinned), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(attributes.hostPointer, pinned);
  EXPECT_EQ(attributes.devicePointer, pinned);
  void* device_address = nullptr;
  ASSERT_EQ(cudaHostGetDevicePointer(&device_address, pinned, 0), cudaSuccess);
  EXPECT_EQ(device_address, pinned);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  ASSERT_EQ(cudaHostAlloc(&pinned, 4096, cudaHostAllocPortable), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST_F(DeviceContract, OrdinaryMemoryIsUnknownUntilRegistered) {
  constexpr std::size_t page = 4096;
  const std::unique_ptr<void, void (*)(void*)> memory(std::aligned_alloc(page, page), std::free);
  cudaPointerAttributes attributes;
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, memory.get()), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  observe("device of unregistered memory", attributes.device);
  const cudaError_t registered = cudaHostRegister(memory.get(), page, cudaHostRegisterDefault);
  observe("cudaHostRegister", registered);
  if (registered == cudaSuccess) {
    EXPECT_EQ(cudaHostRegister(memory.get(), page, cudaHostRegisterDefault),
              cudaErrorHostMemoryAlreadyRegistered);
    ASSERT_EQ(cudaPointerGetAttributes(&attributes, memory.get()), cudaSuccess);
    EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
    EXPECT_EQ(cudaHostUnregister(memory.get()), cudaSuccess);
    EXPECT_EQ(cudaHostUnregister(memory.get()), cudaErrorHostMemoryNotRegistered);
  }
  (void)cudaGetLastError();
}

TEST_F(DeviceContract, WhatCannotBeAllocatedOrFreedIsRefused) {
  void* address = nullptr;
  EXPECT_EQ(cudaMalloc(&address, std::size_t{1} << 50), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  observe("cudaMalloc of nothing", cudaMalloc(&address, 0));
  observe("cudaMalloc of nothing, null", address == nullptr ? 1 : 0);
  ASSERT_EQ(cudaMalloc(&address, 1024), cudaSuccess);
  EXPECT_EQ(cudaFree(address), cudaSuccess);
  EXPECT_EQ(cudaFree(address), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(nullptr), cudaSuccess);
  int local = 0;
  observe("cudaFreeHost of ordinary memory", cudaFreeHost(&local));
  (void)cudaGetLastError();
}

}  // namespace
}  // namespace ringside::tests
