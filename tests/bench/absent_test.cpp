// SPDX-License-Identifier: MIT
/// `ringside bench` for GPUs in a build without CUDA.
#include <gtest/gtest.h>

#include "ringside/tests/support/run_program.hpp"

namespace ringside::tests {
namespace {

TEST(GpuCommand, ABuildWithoutCudaSaysSoInOneLine) {
  for (const auto* backend : {"cuda", "nccl"}) {
    const auto result = run_program({RINGSIDE_PROGRAM, "bench", "--backend", backend});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.output, "");
    EXPECT_EQ(lines_of(result.error).size(), 1U) << result.error;
    EXPECT_NE(result.error.find("this build has no CUDA"), std::string::npos) << result.error;
  }
}

}  // namespace
}  // namespace ringside::tests
