// SPDX-License-Identifier: MIT
/// What a simulation costs in the flow engine, and beside it in SimGrid where that is installed.
/// Runs take turns, each in a process of its own, so that both get the same machine and memory is
/// told apart. Arguments: rounds (1), and what to run: "ours", "all", nothing: all but
/// the largest ring in SimGrid.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/bench/micro/flow_engine_cases.hpp"
#include "ringside/topology/network/flow_engine.hpp"

namespace ringside::micro {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

class Star {
 public:
  explicit Star(int hosts) : hosts_(hosts), engine_(links(2 * hosts)) {}

  FlowEngine& engine() { return engine_; }
  PathId path(int from, int to) {
    const std::array<Use, 2> uses{Use{from, 1}, Use{hosts_ + to, 1}};
    return engine_.add_path(uses);
  }

 private:
  static std::vector<Resource> links(int count) {
    std::vector<Resource> made;
    for (int i = 0; i < count; ++i) made.push_back({.name = "", .capacity = StarCase::capacity});
    return made;
  }

  int hosts_;
  FlowEngine engine_;
};

/// A host sends its next block when it has sent the last one and got the one to send.
double run_ring(const StarCase& wanted) {
  Star star(wanted.hosts);
  FlowEngine& engine = star.engine();
  struct Host {
    PathId to_next;
    int sent = 0, got = 0, begun = 1;
  };
  std::vector<Host> hosts;
  for (int i = 0; i < wanted.hosts; ++i) hosts.push_back({star.path(i, (i + 1) % wanted.hosts)});
  const auto send = [&](int host) {
    engine.start(hosts[at(host)].to_next, static_cast<double>(StarCase::block), StarCase::latency,
                 host);
  };
  const auto go_on = [&](int index) {
    Host& host = hosts[at(index)];
    if (host.begun == wanted.steps() || host.sent < host.begun || host.got < host.begun) return;
    ++host.begun;
    send(index);
  };
  for (int i = 0; i < wanted.hosts; ++i) send(i);
  std::vector<FlowEngine::Token> ended;
  while (engine.advance(ended))
    for (const FlowEngine::Token token : ended) {
      const int from = static_cast<int>(token), to = (from + 1) % wanted.hosts;
      ++hosts[at(from)].sent;
      ++hosts[at(to)].got;
      go_on(from);
      go_on(to);
    }
  return engine.now();
}

double run_all_to_all(const StarCase& wanted) {
  Star star(wanted.hosts);
  for (int from = 0; from < wanted.hosts; ++from)
    for (int to = 0; to < wanted.hosts; ++to)
      if (from != to)
        star.engine().start(star.path(from, to), static_cast<double>(StarCase::bytes(from, to)),
                            StarCase::latency, 0);
  std::vector<FlowEngine::Token> ended;
  while (star.engine().advance(ended)) {
  }
  return star.engine().now();
}

struct Run {
  double simulated = 0;  // seconds
  double seconds = 0;    // of processor time
  double megabytes = 0;  // at most, of memory
};

/// In a process of its own.
Run run_elsewhere(const std::function<double()>& body) {
  std::array<int, 2> ends{};
  std::fflush(nullptr);
  if (pipe(ends.data()) != 0) throw Error(ErrorCode::io, "no pipe");
  const pid_t child = fork();
  if (child < 0) throw Error(ErrorCode::io, "no process");
  if (child == 0) {
    Run run;
    run.simulated = body();
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    run.seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    run.megabytes = static_cast<double>(usage.ru_maxrss) / 1024;
    const bool told = write(ends[1], &run, sizeof run) == sizeof run;
    _exit(told ? 0 : 1);
  }
  close(ends[1]);
  Run run;
  const bool told = read(ends[0], &run, sizeof run) == sizeof run;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  if (!told) throw Error(ErrorCode::failed, "a run has ended early");
  return run;
}

Run median(std::vector<Run> runs) {
  std::ranges::sort(runs, {}, &Run::seconds);
  return runs[runs.size() / 2];
}

void compare(const StarCase& wanted, int rounds, [[maybe_unused]] bool with_simgrid) {
  const bool ring = wanted.kind == StarCase::Kind::ring;
  std::vector<Run> ours, theirs;
  for (int round = 0; round < rounds; ++round) {
    ours.push_back(run_elsewhere([&] { return run_in_engine(wanted); }));
#ifdef RINGSIDE_SIMGRID
    if (with_simgrid) theirs.push_back(run_elsewhere([&] { return run_in_simgrid(wanted); }));
#endif
  }
  const long flows = static_cast<long>(wanted.hosts) * (ring ? wanted.steps() : wanted.hosts - 1);
  const Run mine = median(ours);
  fmt::print("{:<12}{:>6}{:>12}{:>10.2f} s{:>8.0f} MB", ring ? "ring" : "all-to-all", wanted.hosts,
             flows, mine.seconds, mine.megabytes);
  if (!theirs.empty()) {
    const Run other = median(theirs);
    fmt::print("{:>12.2f} s{:>8.0f} MB{:>10.1f} x{:>14.0e}", other.seconds, other.megabytes,
               other.seconds / mine.seconds, mine.simulated / other.simulated - 1);
  }
  fmt::print("\n");
}

}  // namespace

double run_in_engine(const StarCase& wanted) {
  return wanted.kind == StarCase::Kind::ring ? run_ring(wanted) : run_all_to_all(wanted);
}

}  // namespace ringside::micro

int main(int argc, char** argv) {
  using ringside::micro::StarCase;
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  const std::string which = argc > 2 ? argv[2] : "";
  fmt::print("measured, {} rounds (median); processor time, peak memory of the process\n", rounds);
  fmt::print("{:<12}{:>6}{:>12}{:>12}{:>11}{:>14}{:>11}{:>12}{:>14}\n", "case", "hosts", "flows",
             "ringside", "", "SimGrid", "", "ratio", "times differ");
  ringside::micro::compare({StarCase::Kind::ring, 256}, rounds, which != "ours");
  ringside::micro::compare({StarCase::Kind::ring, 1024}, rounds, which != "ours");
  ringside::micro::compare({StarCase::Kind::all_to_all, 128}, rounds, which != "ours");
  ringside::micro::compare({StarCase::Kind::ring, 4096}, rounds, which == "all");
}
