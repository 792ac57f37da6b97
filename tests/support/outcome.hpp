// SPDX-License-Identifier: MIT
/// What tests of errors ask for: the error that something threw, as a value.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "ringside/base/error.hpp"

namespace ringside::tests {

struct Outcome {
  std::optional<ErrorCode> code;  ///< nothing: no error
  std::string what;
  std::optional<int> rank, peer;

  [[nodiscard]] bool says(const std::string& words) const {
    return what.find(words) != std::string::npos;
  }
};

template <class Body>
Outcome outcome_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return {error.code(), error.what(), error.rank(), error.peer()};
  }
  return {};
}

/// Code and words, in one line, of the error that `body` must end with.
inline std::pair<ErrorCode, std::string> error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return {error.code(), error.what()};
  }
  ADD_FAILURE() << "no error";
  return {ErrorCode::internal, ""};
}

/// The words, in one line, of the bad_input that `body` ends with; empty if it ends without error.
template <class Body>
std::string bad_input_of(Body&& body) {
  try {
    (void)body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  return {};
}

/// For calls under way when the communicator failed, or made later.
inline void expect_cause(const Outcome& outcome, ErrorCode cause, const std::string& words) {
  EXPECT_TRUE(outcome.code == cause || outcome.code == ErrorCode::failed) << outcome.what;
  EXPECT_TRUE(outcome.says(words)) << outcome.what;
}

}  // namespace ringside::tests
