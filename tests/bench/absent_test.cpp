// SPDX-License-Identifier: MIT
/// `ringside bench` for GPUs in a build without CUDA.
#include <gtest/gtest.h>

#include "ringside/tests/bench/bench_program.hpp"

namespace ringside::tests {
namespace {

TEST(GpuCommand, ABuildWithoutCudaSaysSoInOneLine) {
  for (const auto* backend : {"cuda", "nccl"}) {
    expect_refused(bench({"--backend", backend}), "this build has no CUDA");
  }
}

}  // namespace
}  // namespace ringside::tests
