// SPDX-License-Identifier: MIT
/// A program of another library that is measured beside us, and the talk with it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/bench/subject.hpp"

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
  /// The next line. Throws Error: timeout after the limit; failed, with the last thing it wrote to
  /// standard error, when it has ended.
  [[nodiscard]] std::string receive();

 private:
  bool fill(std::string& buffer, int descriptor);
  [[nodiscard]] bool ended_within(Seconds limit);
  [[noreturn]] void fail(const std::string& why);

  std::string name_;
  Seconds limit_;
  pid_t child_ = -1;
  int input_ = -1, output_ = -1, errors_ = -1;  // of the child
  std::string unread_, complaints_;
};

/// MPI_Allreduce of Open MPI, in processes of its own under mpirun.
class OpenMpiSubject final : public Subject {
 public:
  /// Starts the ranks. Throws Error(unsupported) without mpirun or the program, and what
  /// PeerProcess throws.
  OpenMpiSubject(int ranks, const std::string& program, Seconds limit);

  [[nodiscard]] Series describe() const override;
  [[nodiscard]] std::optional<std::string> refusal(const Cell& cell) const override;
  BlockTimes time(const Cell& cell, const Block& block) override;
  /// Not checked: it is not ours to prove.
  std::optional<CheckOutcome> check(const Cell& cell) override;

 private:
  int ranks_;
  PeerProcess process_;
  std::string library_;
};

/// Where the program stands in the build tree and when installed, from this program's own place.
/// Throws Error(unsupported), saying how to get it, when it is in neither.
[[nodiscard]] std::string find_openmpi_program();

/// "times 2 0.1 0.2 1 0.05" as a block of `ranks` and `samples`. Throws Error(failed) for anything
/// else.
[[nodiscard]] BlockTimes parse_times(const std::string& line, std::size_t ranks,
                                     std::size_t samples);

}  // namespace ringside::bench
