// SPDX-License-Identifier: MIT
/// Runs a program the way a user does, and keeps what it said.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace ringside::tests {

struct ProgramResult {
  int exit_code = -1;      ///< as a shell shows it: 128 + the signal's number for a killed program
  bool timed_out = false;  ///< it was killed because the limit passed
  std::string output;      ///< standard output
  std::string error;       ///< standard error
};

struct ProgramInput {
  std::string text = {};                      ///< standard input
  std::vector<std::string> environment = {};  ///< "NAME=VALUE", added to the environment
  std::chrono::seconds limit{60};             ///< then it is killed, with the children in its group
};

/// Runs `command[0]` (a path, or a name looked up in PATH) with the other words as arguments and
/// waits for its end. RINGSIDE_* variables of this process are not passed on. A program that cannot
/// be started ends with exit code 127 and says so, as in a shell.
[[nodiscard]] ProgramResult run_program(const std::vector<std::string>& command,
                                        const ProgramInput& input = {});

/// Lines of a text; a final newline does not begin another one.
[[nodiscard]] std::vector<std::string> lines_of(const std::string& text);

}  // namespace ringside::tests
