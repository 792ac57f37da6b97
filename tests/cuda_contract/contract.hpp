// SPDX-License-Identifier: MIT
/// The contract test asserts what the documentation promises and we rely on, so a difference
/// between the double and a device is a bug in the double. What the documentation leaves open is
/// observed: printed, on the double as on a device, to be compared by eye.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ringside/tests/fakecuda/test_kernels.hpp"

namespace ringside::tests {

/// Prints what happens where nothing is promised.
void observe(const std::string& what, cudaError_t code);
void observe(const std::string& what, long long value);

/// Skips where there is no device. After each test the runtime must be usable, and nothing
/// captured.
class Contract : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// Released after the test.
  std::int32_t* device_memory(std::size_t elements);
  cudaStream_t stream(unsigned flags = cudaStreamNonBlocking);
  cudaEvent_t event(unsigned flags = cudaEventDisableTiming);

  /// Enqueues data[i] = value.
  static void fill(std::int32_t* data, std::int32_t value, std::size_t elements, cudaStream_t in);
  /// Enqueues a wait long enough to be noticed (some 10 ms on a device).
  static void delay(cudaStream_t in);
  /// Of memory that nothing uses any more.
  static std::vector<std::int32_t> contents(const std::int32_t* data, std::size_t elements);
  /// Waits for the device and forgets the last error.
  static void settle();
  [[nodiscard]] int devices() const { return devices_; }
  [[nodiscard]] static bool on_double();

 private:
  int devices_ = 0;
  std::vector<std::int32_t*> memory_;
  std::vector<cudaStream_t> streams_;
  std::vector<cudaEvent_t> events_;
};

}  // namespace ringside::tests
