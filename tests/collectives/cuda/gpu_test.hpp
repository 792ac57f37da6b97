// SPDX-License-Identifier: MIT
/// What tests of ranks on GPUs share: on the double of the CUDA runtime each begins with a fresh
/// machine, and at its end nothing may be left over, misused or unordered.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <vector>

#include "ringside/collectives/communicator.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/tests/fakecuda/control.hpp"

namespace ringside::tests {

/// The calling thread's.
inline int current_device() {
  int device = -1;
  cuda::check(cudaGetDevice(&device), "cudaGetDevice", 0);
  return device;
}

/// Fails for what the double has to say since the reset. On a real device nothing is known.
inline void expect_nothing_left() {
  if (!fakecuda::Control::present()) return;
  for (const auto& report : fakecuda::Control::take_reports()) ADD_FAILURE() << report.text;
  for (const auto& leak : fakecuda::Control::leaks()) ADD_FAILURE() << "left behind: " << leak;
}

/// On the double, or on the devices that there are.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (fakecuda::Control::present()) return fakecuda::Control::reset();
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) GTEST_SKIP() << "no GPU";
  }
  void TearDown() override { expect_nothing_left(); }
};

/// Floats in the memory of the calling thread's device.
class DeviceFloats {
 public:
  explicit DeviceFloats(std::size_t count, float value = 0)
      : memory_(cuda::DeviceMemory::on(current_device(), count * sizeof(float))), count_(count) {
    set(value);
  }
  [[nodiscard]] float* data() const { return reinterpret_cast<float*>(memory_.data()); }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::span<float> span() const { return {data(), count_}; }

  void set(float value) { set(std::vector<float>(count_, value)); }
  void set(const std::vector<float>& values) {
    cuda::check(cudaMemcpy(data(), values.data(), count_ * sizeof(float), cudaMemcpyHostToDevice),
                "cudaMemcpy", memory_.device());
    // The copy is done when it returns, but for memory of the host that is not pinned that is said
    // of the host's side only.
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", memory_.device());
  }
  [[nodiscard]] std::vector<float> get() const {
    std::vector<float> values(count_);
    cuda::check(cudaMemcpy(values.data(), data(), count_ * sizeof(float), cudaMemcpyDeviceToHost),
                "cudaMemcpy", memory_.device());
    return values;
  }

 private:
  cuda::DeviceMemory memory_;
  std::size_t count_;
};

/// The sum over the ranks, in place.
inline void all_reduce(Communicator& comm, const DeviceFloats& data,
                       const CallOptions& options = {}) {
  comm.all_reduce(data.data(), data.data(), data.size(), ElementType::float32, ReduceOp::sum,
                  options);
}

/// Ranks of one device, which every machine with a GPU has.
inline const std::vector<int> three_ranks = {0, 0, 0};

}  // namespace ringside::tests
