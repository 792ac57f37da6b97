// SPDX-License-Identifier: MIT
/// Tests of NCCL behind our interface: a fake libnccl on a double of the CUDA runtime, and at the
/// end of each test nothing may be left over, misused or unordered.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "ringside/base/options.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/fakecuda/control.hpp"
#include "ringside/tests/fakenccl/control.hpp"

namespace ringside::tests {

inline std::string fake_nccl(const std::string& name = "usual") {
  return std::string(RINGSIDE_FAKENCCL) + "/" + name + "/libnccl.so.2";
}

class NcclTest : public testing::Test {
 protected:
  explicit NcclTest(const std::string& name = "usual")
      : fake(fakenccl::Control::of(fake_nccl(name))), library_("nccl_library", fake_nccl(name)) {}

  void SetUp() override {
    if (!fakecuda::Control::present()) GTEST_SKIP() << "needs the double of the CUDA runtime";
    fakecuda::Control::reset();
    fake.reset();
  }

  void TearDown() override {
    if (!fakecuda::Control::present()) return;
    EXPECT_EQ(fake.alive(), 0) << "communicators or operators of NCCL are left";
    for (const auto& misuse : fake.misuses()) ADD_FAILURE() << misuse;
    for (const auto& leak : fakecuda::Control::leaks()) ADD_FAILURE() << "left: " << leak;
    for (const auto& report : fakecuda::Control::take_reports()) ADD_FAILURE() << report.text;
  }

  fakenccl::Control& fake;

 private:
  ScopedOption library_;
};

/// Floats in the memory of the current device.
class DeviceFloats {
 public:
  explicit DeviceFloats(std::size_t count, float value = 0) : count_(count) {
    int device = 0;
    cuda::check(cudaGetDevice(&device), "cudaGetDevice", 0);
    memory_ = cuda::DeviceMemory::on(device, count * sizeof(float));
    set(std::vector<float>(count, value));
  }
  [[nodiscard]] float* data() const { return reinterpret_cast<float*>(memory_.data()); }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::span<float> span() const { return {data(), count_}; }
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
  std::size_t count_;
  cuda::DeviceMemory memory_;
};

/// An all_reduce that must give the sum of 1 .. n.
inline void expect_works(Communicator& comm) {
  DeviceFloats data(37, static_cast<float>(comm.rank() + 1));
  comm.all_reduce(data.span(), ReduceOp::sum);
  const int n = comm.size();
  EXPECT_EQ(data.get(), std::vector<float>(37, static_cast<float>(n * (n + 1)) / 2));
}

}  // namespace ringside::tests
