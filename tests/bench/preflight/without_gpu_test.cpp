// SPDX-License-Identifier: MIT
/// `ringside bench --preflight` where there is nothing to look at. (With a GPU it is skipped.)
#include <gtest/gtest.h>

#include <string>

#include "ringside/tests/support/run_program.hpp"

namespace ringside::tests {
namespace {

TEST(PreflightWithoutGpu, IsOneLineThatSaysWhyAndExitCode2) {
  const auto result = run_program({RINGSIDE_PROGRAM, "bench", "--preflight", "--quick"});
  if (result.output.find("# preflight of") == 0) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output, "");
#ifdef RINGSIDE_TEST_WITH_CUDA
  const std::string reason = "ringside: no GPU: ";  // no driver, an old one, or no device
#else
  const std::string reason = "ringside: this build has no CUDA: ";
#endif
  EXPECT_TRUE(result.error.starts_with(reason)) << result.error;
  EXPECT_EQ(lines_of(result.error).size(), 1U) << result.error;
}

}  // namespace
}  // namespace ringside::tests
