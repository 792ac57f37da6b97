// SPDX-License-Identifier: MIT
/// `ringside bench --preflight` where there is nothing to look at. (With a GPU it is skipped.)
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ringside/tests/support/run_program.hpp"

namespace ringside::tests {
namespace {

TEST(PreflightWithoutGpu, IsOneLineThatSaysWhyAndExitCode2) {
  const auto result = run_program({RINGSIDE_PROGRAM, "bench", "--preflight", "--quick"});
  if (result.output.find("# preflight of") == 0) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output, "");
#ifdef RINGSIDE_TEST_WITH_CUDA
  const std::vector<std::string> reasons = {"ringside: no GPU: the CUDA driver is not installed\n",
                                            "ringside: no GPU: the CUDA driver finds no device\n"};
#else
  const std::vector<std::string> reasons = {
      "ringside: this build has no CUDA: no nvcc was found when it was configured\n"};
#endif
  EXPECT_NE(std::find(reasons.begin(), reasons.end(), result.error), reasons.end()) << result.error;
}

}  // namespace
}  // namespace ringside::tests
