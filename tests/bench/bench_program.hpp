// SPDX-License-Identifier: MIT
/// `ringside bench` as its tests call it.
#pragma once

#include <string>
#include <vector>

#include "ringside/tests/support/program_checks.hpp"
#include "ringside/tests/support/run_program.hpp"

namespace ringside::tests {

inline ProgramResult bench(std::vector<std::string> words, const ProgramInput& input = {}) {
  words.insert(words.begin(), {RINGSIDE_PROGRAM, "bench"});
  return run_program(words, input);
}

inline void expect_all_refused(const std::vector<BadCommand>& commands) {
  expect_all_refused(commands, [](const auto& words) { return bench(words); });
}

}  // namespace ringside::tests
