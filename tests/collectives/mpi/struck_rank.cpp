// SPDX-License-Identifier: MIT
/// For failures_test.py, started by mpirun: ranks that make calls until one of them is struck by a
/// signal in the middle of them. The others print what they are told.
///
/// usage: struck_rank SIGNAL RANK ALGORITHM ELEMENTS LIMIT [GPU]
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
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
  if (argc != 6 && argc != 7) return 2;
  const int signal = std::string(argv[1]) == "STOP" ? SIGSTOP : SIGKILL;
  const int victim = std::atoi(argv[2]);
  const CallOptions options{.algorithm = argv[3], .timeout = Seconds{std::atof(argv[5])}};
  const auto elements = static_cast<std::size_t>(std::atoi(argv[4]));
  std::optional<int> gpu;
  if (argc == 7) gpu = std::atoi(argv[6]);
  Stopwatch since;
  int rank = -1;
  try {
    World::mpi(gpu).run([&](Communicator& comm) {
      rank = comm.rank();
      std::vector<float> at_host(gpu ? 0 : elements, 1.0F);
      SharedMemory on_gpu;
      if (gpu) on_gpu = comm.shared_memory(elements * sizeof(float));
      const std::span<float> data = gpu ? on_gpu.as<float>() : std::span(at_host);
      for (int call = 0;; ++call) {
        if (call == 20 && rank == victim) strike_soon(signal);
        comm.all_reduce(data, ReduceOp::max, options);
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
