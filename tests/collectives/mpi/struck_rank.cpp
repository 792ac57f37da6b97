// SPDX-License-Identifier: MIT
/// For failures_test.py, started by mpirun: ranks that make calls until one of them is struck by a
/// signal in the middle of them. The others print what they are told.
///
/// usage: struck_rank SIGNAL RANK ALGORITHM ELEMENTS LIMIT
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/collectives/world.hpp"

namespace {

using namespace ringside;

void strike_soon(int signal) {
  std::thread([signal] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    (void)::raise(signal == SIGSTOP ? SIGSTOP : SIGKILL);
  }).detach();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const int signal = std::string(argv[1]) == "STOP" ? SIGSTOP : SIGKILL;
  const int victim = std::atoi(argv[2]);
  const CallOptions options{.algorithm = argv[3], .timeout = Seconds{std::atof(argv[5])}};
  Stopwatch since;
  int rank = -1;
  try {
    World::mpi().run([&](Communicator& comm) {
      rank = comm.rank();
      std::vector<float> data(static_cast<std::size_t>(std::atoi(argv[4])), 1.0F);
      for (int call = 0;; ++call) {
        if (call == 20 && rank == victim) strike_soon(signal);
        comm.all_reduce(std::span(data), ReduceOp::max, options);
        (void)since.restart();
      }
    });
  } catch (const Error& error) {
    fmt::print("rank {} peer {} code {} after {:.3f} s: {}\n", rank, error.peer().value_or(-1),
               to_string(error.code()), since.elapsed().count(), error.what());
    return 3;
  }
  return 0;
}
