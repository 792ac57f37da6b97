// SPDX-License-Identifier: MIT
/// What the tests of failing calls share: the error of a call as data, and whether a communicator
/// still works.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/collectives/communicator.hpp"

namespace ringside::tests {

struct Outcome {
  ErrorCode code = ErrorCode::internal;
  std::string what;
  std::optional<int> rank, peer;
};

/// Runs `call` and returns the error it threw; a call that returns is a failure.
template <class Body>
Outcome error_of(Body call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.code(), error.what(), error.rank(), error.peer()};
  }
  ADD_FAILURE() << "no error";
  return {};
}

inline void expect_works(Communicator& comm) {
  std::vector<float> data(37, static_cast<float>(comm.rank() + 1));
  comm.all_reduce(std::span(data), ReduceOp::sum, {.algorithm = "two_shot"});
  const int n = comm.size();
  for (const float value : data) ASSERT_EQ(value, static_cast<float>(n * (n + 1)) / 2);
}

}  // namespace ringside::tests
