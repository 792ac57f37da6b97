// SPDX-License-Identifier: MIT
/// Whether a communicator still works: for tests of what must not break it.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "ringside/collectives/communicator.hpp"

namespace ringside::tests {

inline void expect_works(Communicator& comm) {
  std::vector<float> data(37, static_cast<float>(comm.rank() + 1));
  comm.all_reduce(std::span(data), ReduceOp::sum, {.algorithm = "two_shot"});
  const int n = comm.size();
  for (const float value : data) ASSERT_EQ(value, static_cast<float>(n * (n + 1)) / 2);
}

}  // namespace ringside::tests
