// SPDX-License-Identifier: MIT
/// `ringside bench` as its tests call it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ringside/tests/support/program_checks.hpp"
#include "ringside/tests/support/run_program.hpp"

namespace ringside::tests {

inline ProgramResult bench(std::vector<std::string> words, const ProgramInput& input = {}) {
  words.insert(words.begin(), {RINGSIDE_PROGRAM, "bench"});
  return run_program(words, input);
}

/// A command line and what of the complaint about it matters.
struct BadCommand {
  std::vector<std::string> words;
  std::string_view expected;
};

inline void expect_all_refused(const std::vector<BadCommand>& commands) {
  for (const auto& [words, expected] : commands) {
    SCOPED_TRACE(testing::PrintToString(words));
    expect_refused(bench(words), expected);
  }
}

}  // namespace ringside::tests
