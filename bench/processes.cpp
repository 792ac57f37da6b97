// SPDX-License-Identifier: MIT
#include "ringside/bench/processes.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <map>
#include <string_view>

#include "ringside/base/threads.hpp"
#include "ringside/bench/machine.hpp"
#include "ringside/collectives/executors/mpi/transport.hpp"

namespace ringside::bench {
namespace {

constexpr std::size_t most_cores = 4096;

/// What a process tells the others.
struct Facts {
  int number = 0;
  std::array<char, 128> host = {};
  std::array<char, 128> processor = {};
  std::bitset<most_cores> cores;
};

void put(std::array<char, 128>& to, std::string_view text) {
  std::copy_n(text.begin(), std::min(text.size(), to.size() - 1), to.begin());
}

Facts own_facts() {
  const Machine machine = read_machine();
  Facts facts;
  facts.number = ::getpid();
  put(facts.host, machine.host_name);
  put(facts.processor, machine.processor);
  for (const int cpu : allowed_cpus())
    if (static_cast<std::size_t>(cpu) < most_cores) facts.cores.set(static_cast<std::size_t>(cpu));
  return facts;
}

std::string counted(int number, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

}  // namespace

Processes read_processes() {
  mpi::Transport& transport = mpi::transport();
  Processes processes{.library = transport.library(), .ranks = {}};
  std::map<std::string, std::bitset<most_cores>> cores;
  for (const Facts& facts : mpi::gathered(transport, own_facts())) {
    processes.ranks.push_back({facts.number, facts.host.data(), facts.processor.data()});
    cores[facts.host.data()] |= facts.cores;
  }
  processes.hosts = static_cast<int>(cores.size());
  processes.cores = 0;
  for (const auto& [host, set] : cores) processes.cores += static_cast<int>(set.count());
  return processes;
}

std::string describe(const Processes& processes, bool pinned) {
  const auto ranks = static_cast<int>(processes.ranks.size());
  return fmt::format("{} on {} ({}), {} ({}{})", counted(ranks, "MPI process", "MPI processes"),
                     counted(processes.hosts, "host", "hosts"), processes.library,
                     counted(processes.cores, "core", "cores"),
                     pinned ? "pinned, each to a core of its own set" : "not pinned",
                     ranks > processes.cores ? "; more processes than cores" : "");
}

}  // namespace ringside::bench
