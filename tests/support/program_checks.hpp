// SPDX-License-Identifier: MIT
/// What tests of programs ask of what they said.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "ringside/tests/support/run_program.hpp"

namespace ringside::tests {

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Of `ringside`: exit code 2, nothing on standard output and one line on standard error, which has
/// these words in it.
inline void expect_refused(const ProgramResult& result, std::string_view words) {
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, 2) << result.error;
  EXPECT_EQ(result.output, "");
  EXPECT_TRUE(result.error.ends_with('\n')) << result.error;
  EXPECT_EQ(lines_of(result.error).size(), 1U) << result.error;
  EXPECT_TRUE(result.error.starts_with("ringside: ")) << result.error;
  EXPECT_TRUE(contains(result.error, words)) << "\"" << words << "\" in: " << result.error;
  EXPECT_FALSE(contains(result.error, "internal")) << result.error;
}

/// A command line and what of the complaint about it matters.
struct BadCommand {
  std::vector<std::string> words;
  std::string_view expected;  ///< somewhere in the line
};

/// `run` gives what the program says to the words.
template <class Run>
void expect_all_refused(const std::vector<BadCommand>& commands, Run run) {
  for (const auto& [words, expected] : commands) {
    SCOPED_TRACE(testing::PrintToString(words));
    expect_refused(run(words), expected);
  }
}

}  // namespace ringside::tests
