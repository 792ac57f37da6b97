// SPDX-License-Identifier: MIT
/// Copies and sets.
#include <numeric>

#include "ringside/tests/cuda_contract/contract.hpp"

namespace ringside::tests {
namespace {

constexpr std::size_t count = 1000;
constexpr std::size_t bytes = count * sizeof(std::int32_t);

std::vector<std::int32_t> numbers() {
  std::vector<std::int32_t> values(count);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

using CopyContract = Contract;

TEST_F(CopyContract, WhatGoesToADeviceComesBack) {
  std::int32_t *a = device_memory(count), *b = device_memory(count);
  const auto values = numbers();
  EXPECT_EQ(cudaMemcpy(a, values.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(b, a, bytes, cudaMemcpyDeviceToDevice), cudaSuccess);
  settle();
  EXPECT_EQ(contents(b, count), values);
}

TEST_F(CopyContract, TheDirectionMayBeLeftToTheRuntime) {
  std::int32_t *a = device_memory(count), *b = device_memory(count);
  const auto values = numbers();
  std::vector<std::int32_t> result(count);
  EXPECT_EQ(cudaMemcpy(a, values.data(), bytes, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(b, a, bytes, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(result.data(), b, bytes, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(result, values);
}

TEST_F(CopyContract, APageableSourceMayChangeAfterTheCall) {
  std::int32_t* a = device_memory(count);
  cudaStream_t s = stream();
  auto values = numbers();
  delay(s);
  EXPECT_EQ(cudaMemcpyAsync(a, values.data(), bytes, cudaMemcpyHostToDevice, s), cudaSuccess);
  values.assign(count, 0);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(contents(a, count), numbers());
}

TEST_F(CopyContract, APageableDestinationIsFilledWhenTheCallReturns) {
  std::int32_t* a = device_memory(count);
  cudaStream_t s = stream();
  std::vector<std::int32_t> result(count);
  delay(s);
  fill(a, 9, count, s);
  EXPECT_EQ(cudaMemcpyAsync(result.data(), a, bytes, cudaMemcpyDeviceToHost, s), cudaSuccess);
  EXPECT_EQ(result, std::vector<std::int32_t>(count, 9));
}

TEST_F(CopyContract, PinnedMemoryIsCopiedInTurn) {
  std::int32_t *a = device_memory(count), *pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&pinned), bytes), cudaSuccess);
  cudaStream_t s = stream();
  delay(s);
  fill(a, 4, count, s);
  EXPECT_EQ(cudaMemcpyAsync(pinned, a, bytes, cudaMemcpyDeviceToHost, s), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(std::vector<std::int32_t>(pinned, pinned + count), std::vector<std::int32_t>(count, 4));
  // Kernels reach it too.
  fill(pinned, 6, count, s);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(pinned[count - 1], 6);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST_F(CopyContract, ADeviceIsAPeerOfItselfForCopies) {
  std::int32_t *a = device_memory(count), *b = device_memory(count);
  cudaStream_t s = stream();
  fill(a, 11, count, s);
  EXPECT_EQ(cudaMemcpyPeerAsync(b, 0, a, 0, bytes, s), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(contents(b, count), std::vector<std::int32_t>(count, 11));
  EXPECT_EQ(cudaMemcpyPeer(b, 0, a, 0, bytes), cudaSuccess);
  EXPECT_EQ(cudaMemcpyPeerAsync(b, devices(), a, 0, bytes, s), cudaErrorInvalidDevice);
  (void)cudaGetLastError();
}

TEST_F(CopyContract, PeersCopyWithAndWithoutAccess) {
  if (devices() < 2) return;
  std::int32_t* a = device_memory(count);
  cudaStream_t s = stream();
  fill(a, 12, count, s);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  std::int32_t* b = device_memory(count);
  EXPECT_EQ(cudaMemcpyPeerAsync(b, 1, a, 0, bytes, s), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(contents(b, count), std::vector<std::int32_t>(count, 12));
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  int can = 0;
  ASSERT_EQ(cudaDeviceCanAccessPeer(&can, 0, 1), cudaSuccess);
  if (can == 0) return;
  ASSERT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
  fill(b, 13, count, s);  // device 0 stores into device 1
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(contents(b, count), std::vector<std::int32_t>(count, 13));
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaSuccess);
}

TEST_F(CopyContract, SetsWriteBytes) {
  std::int32_t* a = device_memory(count);
  cudaStream_t s = stream();
  EXPECT_EQ(cudaMemsetAsync(a, 1, bytes, s), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(contents(a, count), std::vector<std::int32_t>(count, 0x01010101));
  EXPECT_EQ(cudaMemset(a, 0, bytes), cudaSuccess);
  settle();
  EXPECT_EQ(contents(a, count), std::vector<std::int32_t>(count, 0));
}

TEST_F(CopyContract, NothingIsCopiedWithoutComplaint) {
  std::int32_t *a = device_memory(count), *b = device_memory(count);
  cudaStream_t s = stream();
  EXPECT_EQ(cudaMemcpyAsync(a, b, 0, cudaMemcpyDeviceToDevice, s), cudaSuccess);
  EXPECT_EQ(cudaMemcpyPeerAsync(a, 0, b, 0, 0, s), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(a, 0, 0, s), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
}

TEST_F(CopyContract, CopiesThatCannotBeAreRefused) {
  std::int32_t *a = device_memory(count), *b = device_memory(count);
  cudaStream_t s = stream();
  EXPECT_EQ(cudaMemcpyAsync(a, b, std::size_t{1} << 45, cudaMemcpyDeviceToDevice, s),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(nullptr, b, 4, cudaMemcpyDeviceToDevice, s), cudaErrorInvalidValue);
  (void)cudaGetLastError();
  std::int32_t local = 0;
  observe("a copy from the host said to be from the device",
          cudaMemcpyAsync(a, &local, 4, cudaMemcpyDeviceToDevice, s));
}

}  // namespace
}  // namespace ringside::tests
