// SPDX-License-Identifier: MIT
/// What the preflight and the process that touches the devices for it say to each other: a line of
/// JSON each way. Anything may happen to that process; to the preflight nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/bench/preflight/facts.hpp"
#include "ringside/bench/preflight/step.hpp"

namespace ringside::bench::preflight {

/// The last command; also what PeerProcess says in the end.
inline constexpr std::string_view quit_command = "quit";

struct Command {
  enum class Kind { facts, open, step } kind = Kind::facts;
  int device = 0;  ///< of open: its context is made
  Step step;
};

struct Reply {
  /// There is nothing to measure on: no driver, no device, no CUDA. Why.
  std::optional<std::string> refusal;
  std::optional<Facts> facts;  ///< of facts
  Outcome outcome;             ///< of open and step
};

/// One line without its newline.
[[nodiscard]] std::string write(const Command& command);
[[nodiscard]] std::string write(const Reply& reply);

/// Throw Error(bad_input).
[[nodiscard]] Command read_command(const std::string& line);
[[nodiscard]] Reply read_reply(const std::string& line);

}  // namespace ringside::bench::preflight
