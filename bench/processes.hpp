// SPDX-License-Identifier: MIT
/// The processes that a benchmark's ranks are, where mpirun started them: what a report says of
/// them.
#pragma once

#include <string>
#include <vector>

namespace ringside::bench {

struct Process {
  int number = 0;  ///< the system's
  std::string host;
  std::string processor;  ///< model
};

struct Processes {
  std::string library;  ///< "Open MPI 4.1.4"
  std::vector<Process> ranks;
  int hosts = 1;
  int cores = 1;  ///< logical ones that the ranks may run on, of all hosts
};

/// A collective of all of them. Throws Error(timeout) if they do not all come.
[[nodiscard]] Processes read_processes();

/// "2 MPI processes on 1 host (Open MPI 4.1.4), 2 cores (pinned, each to a core of its own set)".
[[nodiscard]] std::string describe(const Processes& processes, bool pinned);

}  // namespace ringside::bench
