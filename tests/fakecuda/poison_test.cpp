// SPDX-License-Identifier: MIT
/// With the address sanitizer, what an operation did not declare is poisoned while it runs, and all
/// device memory while none does.
#include <gtest/gtest.h>

#include <string>

#include "ringside/tests/fakecuda/control.hpp"
#include "ringside/tests/fakecuda/test_kernels.hpp"

namespace ringside::tests::fakecuda {
namespace {

constexpr std::size_t count = 64;

class Poison : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Control::present());
    Control::reset();
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(std::int32_t)),
              cudaSuccess);
  }
  std::int32_t* data_ = nullptr;
};

TEST_F(Poison, WhatIsDeclaredMayBeUsed) {
  EXPECT_EQ(launch_fill({data_, 1, count, count}, nullptr), cudaSuccess);
  std::int32_t value = 0;
  EXPECT_EQ(cudaMemcpy(&value, data_ + count - 1, sizeof value, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(value, 1);
}

#if defined(__SANITIZE_ADDRESS__)
TEST_F(Poison, AKernelThatTouchesMoreThanItDeclaresIsCaught) {
  EXPECT_DEATH(
      {
        (void)launch_fill({data_, 1, count, count / 2}, nullptr);
        (void)cudaDeviceSynchronize();
      },
      "use-after-poison");
}

TEST_F(Poison, AHostThatTouchesDeviceMemoryIsCaught) {
  EXPECT_DEATH(data_[3] = 1, "use-after-poison");
}
#endif

}  // namespace
}  // namespace ringside::tests::fakecuda
