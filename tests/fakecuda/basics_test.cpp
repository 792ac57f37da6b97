// SPDX-License-Identifier: MIT
/// The double is there, and does what it is asked for.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ringside/tests/fakecuda/control.hpp"
#include "ringside/tests/fakecuda/test_kernels.hpp"

namespace ringside::tests::fakecuda {
namespace {

class Basics : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Control::present())
        << "this test needs LD_LIBRARY_PATH to name the double's folder";
    Control::reset();
  }
};

TEST_F(Basics, ThisIsTheDouble) {
  cudaDeviceProp properties;
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 3), cudaSuccess);
  EXPECT_EQ(std::string(properties.name), "virtual device 3");
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 4);
}

TEST_F(Basics, CopiesAndKernelsDoTheirWork) {
  for (const char* scheduler : {"eager", "lazy", "random:7", "pct:7"}) {
    Configuration configuration = Control::environment();
    configuration.scheduler = scheduler;
    Control::reset(configuration);
    std::int32_t* data = nullptr;
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&data), 400), cudaSuccess);
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(launch_fill({data, 5, 100, 100}, stream), cudaSuccess);
    ASSERT_EQ(launch_add({data, data, data, 50}, stream), cudaSuccess);
    launch_fill_with_brackets({data + 99, 8, 1, 1}, stream);
    ASSERT_EQ(cudaGetLastError(), cudaSuccess);
    std::vector<std::int32_t> result(100);
    ASSERT_EQ(cudaMemcpyAsync(result.data(), data, 400, cudaMemcpyDeviceToHost, stream),
              cudaSuccess);
    EXPECT_EQ(result[0], 10);
    EXPECT_EQ(result[49], 10);
    EXPECT_EQ(result[50], 5);
    EXPECT_EQ(result[99], 8);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    EXPECT_EQ(Control::leaks().size(), 1u);
    EXPECT_EQ(cudaFree(data), cudaSuccess);
    EXPECT_TRUE(Control::leaks().empty());
    EXPECT_TRUE(Control::reports().empty());
  }
}

}  // namespace
}  // namespace ringside::tests::fakecuda
