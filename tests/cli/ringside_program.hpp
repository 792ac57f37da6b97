// SPDX-License-Identifier: MIT
/// What the tests of the program share: running it, and a small plan file.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ringside/tests/support/program_checks.hpp"
#include "ringside/tests/support/run_program.hpp"

namespace ringside::tests {

/// Runs `ringside` with these words after its name.
inline ProgramResult ringside_program(std::vector<std::string> words,
                                      const ProgramInput& input = {}) {
  words.insert(words.begin(), RINGSIDE_PROGRAM);
  return run_program(words, input);
}

/// Runs a shell command in which $R is the program.
inline ProgramResult ringside_shell(const std::string& command, ProgramInput input = {}) {
  input.environment.emplace_back("R=" RINGSIDE_PROGRAM);
  return run_program({"/bin/sh", "-c", command}, input);
}

/// A right plan for 2 ranks, whose one op adds both inputs and stores both outputs.
inline constexpr std::string_view two_rank_plan = R"({
  "ringside_plan": 1, "spec": "by hand", "collective": "all_reduce", "ranks": 2, "root": 0,
  "in_place": false, "chunks_per_block": 1, "lanes": 1, "slices": 1, "depth": 1,
  "scratch": [],
  "ops": [
    {"rank": 0, "lane": 0, "count": 1, "sources": [[0, "input", 0], [1, "input", 0]],
     "destinations": [[0, "output", 0], [1, "output", 0]]}
  ]
}
)";

/// The text with the one place that reads `old_part` changed.
inline std::string with(std::string_view text, std::string_view old_part, std::string_view part) {
  std::string changed(text);
  const auto at = changed.find(old_part);
  EXPECT_NE(at, std::string::npos) << "nothing to replace: " << old_part;
  if (at != std::string::npos) changed.replace(at, old_part.size(), part);
  return changed;
}

}  // namespace ringside::tests
