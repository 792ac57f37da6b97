// SPDX-License-Identifier: MIT
/// Tests of NCCL behind our interface: a fake libnccl on a double of the CUDA runtime, and at the
/// end of each test nothing may be left over, misused or unordered.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ringside/base/options.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/collectives/cuda/gpu_test.hpp"
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
    expect_nothing_left();
  }

  fakenccl::Control& fake;

 private:
  ScopedOption library_;
};

/// An all_reduce that must give the sum of 1 .. n.
inline void expect_works(Communicator& comm) {
  DeviceFloats data(37, static_cast<float>(comm.rank() + 1));
  comm.all_reduce(data.span(), ReduceOp::sum);
  const int n = comm.size();
  EXPECT_EQ(data.get(), std::vector<float>(37, static_cast<float>(n * (n + 1)) / 2));
}

}  // namespace ringside::tests
