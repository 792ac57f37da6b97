// SPDX-License-Identifier: MIT
/// A program of another library that is measured beside us, and the talk with it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "ringside/base/clock.hpp"

namespace ringside::bench {

/// A child process that reads lines and answers lines. It and what it starts end with this object:
/// told to quit, then asked (SIGTERM), then killed.
class PeerProcess {
 public:
  /// Starts `command` (looked for in the PATH). Throws Error(io) when it cannot be started.
  PeerProcess(const std::vector<std::string>& command, Seconds limit);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  /// Sends a line (without its newline).
  void send(const std::string& line);
  /// The next line. Throws Error: timeout after the limit; failed, with the signal that killed it
  /// and the last thing it wrote to standard error, when it has ended.
  [[nodiscard]] std::string receive() { return receive(limit_); }
  /// The same with another limit.
  [[nodiscard]] std::string receive(Seconds limit);

  /// For one that no longer answers: the destructor will not wait for it to end by itself.
  void kill();

 private:
  bool fill(std::string& buffer, int descriptor);
  [[nodiscard]] bool ended_within(Seconds limit);
  [[nodiscard]] std::string ending();
  [[noreturn]] void fail(const std::string& why);

  std::string name_;
  Seconds limit_;
  pid_t child_ = -1;
  int status_ = 0;                              // waitpid's, when it has ended
  int input_ = -1, output_ = -1, errors_ = -1;  // of the child
  std::string unread_, complaints_;
};

}  // namespace ringside::bench
