// SPDX-License-Identifier: MIT
/// Every wait that the executor puts in a stream is necessary, and the test double sees it missing:
/// each is left out once, in two calls that follow one another in streams, and each time the
/// happens-before check or the runtime must say something.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cctype>
#include <string>
#include <vector>

#include "ringside/base/options.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/collectives/cuda/device_rank.hpp"
#include "ringside/tests/collectives/host/tried_call.hpp"
#include "ringside/tests/fakecuda/control.hpp"

namespace ringside::tests {
namespace {

using fakecuda::Control;

struct Subject {
  const char* spec;
  int ranks;
  int devices;
  const char* p2p = "auto";
  bool graphs = false;
  Collective collective = Collective::all_reduce;
  bool in_place = true;
  bool share = false;  ///< the ranks of a device give one stream
};

TriedCall call_of(const Subject& subject) {
  // Long enough that no chunk or slice is empty: nobody touches the bytes of an empty one.
  const Request request{subject.collective, subject.ranks, 0, subject.in_place};
  return {request, subject.spec, {1009}, ElementType::float32, ReduceOp::sum, 7};
}

/// Two calls with the n-th wait left out (0: none). What was noticed, in words; nothing if nothing.
std::string noticed(const Subject& subject, std::uint64_t dropped) {
  auto configuration = Control::environment();
  configuration.devices = subject.devices;
  Control::reset(configuration);
  const ScopedOption p2p("cuda_p2p", subject.p2p);
  const ScopedOption graphs("cuda_graphs", subject.graphs ? "1" : "0");
  std::vector<int> devices;
  for (int rank = 0; rank < subject.ranks; ++rank) devices.push_back(rank % subject.devices);
  const TriedCall call = call_of(subject);
  const std::size_t bytes = call.bytes();
  Control::drop_wait(dropped);
  std::vector<cudaStream_t> streams(devices.size());
  std::string words;
  // Nobody waits for the devices before everything is in the streams: what a thread has waited for
  // is in order for the double, and hides a missing wait.
  std::barrier all_issued(subject.ranks), all_made(subject.ranks), all_over(subject.ranks);
  try {
    World::cuda(devices).run([&](Communicator& comm) {
      DeviceRank device(bytes);
      RankMemory memory(call, comm.rank());
      streams[static_cast<std::size_t>(comm.rank())] = device.stream();
      all_made.arrive_and_wait();
      if (subject.share)
        device.use(streams[static_cast<std::size_t>(comm.rank() % subject.devices)]);
      const auto error = exception_of([&] {
        for (int round = 0; round < rounds; ++round) device.put_round(comm, call, memory, round);
        device.put_overwrite();  // who still reads is missed, too
      });
      all_issued.arrive_and_wait();
      const auto last = exception_of([&] { device.synchronize(); });
      all_over.arrive_and_wait();
      for (const auto& thrown : {error, last})
        if (thrown) std::rethrow_exception(thrown);
    });
  } catch (const Error& error) {
    words = error.what();
  }
  for (const auto& report : Control::take_reports()) words += report.text;
  return words;
}

class Mutation : public testing::TestWithParam<Subject> {};

TEST_P(Mutation, EveryWaitIsMissedWhenItIsLeftOut) {
  if (!Control::present()) GTEST_SKIP() << "needs the test double";
  const Subject& subject = GetParam();
  ASSERT_EQ(noticed(subject, 0), "") << "with all waits";
  const std::uint64_t waits = Control::waits();
  ASSERT_GT(waits, 0u);
  std::uint64_t silent = 0;
  for (std::uint64_t n = 1; n <= waits; ++n)
    if (noticed(subject, n).empty()) {
      ++silent;
      ADD_FAILURE() << "nobody misses wait " << n << " of " << waits;
    }
  fmt::print("cuda mutation: {} of {} ranks on {} devices, p2p {}, {}: {} waits, {} silent\n",
             subject.spec, subject.ranks, subject.devices, subject.p2p,
             subject.share    ? "shared streams"
             : subject.graphs ? "graph"
                              : "streams",
             waits, silent);
}

INSTANTIATE_TEST_SUITE_P(
    Plans, Mutation,
    testing::Values(
        Subject{"ring", 4, 4}, Subject{"ring", 8, 8}, Subject{"ring", 3, 2},
        Subject{"ring:slices=3,lanes=2", 4, 4}, Subject{"bidirectional_ring", 4, 4},
        Subject{"two_shot", 4, 4}, Subject{"two_shot:transfer=push", 4, 4},
        Subject{"one_shot", 4, 4}, Subject{"naive", 4, 4}, Subject{"binomial", 5, 5},
        Subject{"chain:slices=4,lanes=2", 4, 4}, Subject{"double_tree:slices=4,lanes=4", 4, 4},
        Subject{"recursive_doubling", 4, 4}, Subject{"halving_doubling", 4, 4},
        Subject{"neighbour_push", 4, 4},
        Subject{"hierarchical:groups=0-1/2-3,slices=4,lanes=3,depth=2", 4, 4},
        Subject{"ring", 4, 4, "none"}, Subject{"two_shot", 4, 4, "none"},
        Subject{"recursive_doubling", 4, 4, "copy"}, Subject{"two_shot", 4, 4, "copy"},
        Subject{"ring", 4, 4, "auto", true}, Subject{"two_shot", 4, 4, "auto", true},
        Subject{"ring", 4, 4, "none", true},
        Subject{.spec = "ring", .ranks = 4, .devices = 2, .share = true},
        Subject{.spec = "two_shot", .ranks = 4, .devices = 1, .share = true},
        Subject{.spec = "binomial", .ranks = 5, .devices = 2, .share = true},
        Subject{"hierarchical:groups=0-1/2-3,slices=4,lanes=3,depth=2", 4, 4, "auto", true},
        Subject{"recursive_halving:slices=3,lanes=2,depth=2", 4, 4, "auto", false,
                Collective::reduce_scatter, false},
        Subject{"bruck", 5, 5, "auto", false, Collective::all_gather, false},
        Subject{"pairwise", 4, 4, "auto", false, Collective::all_to_all, false},
        Subject{"scatter_all_gather", 4, 4, "auto", false, Collective::broadcast, false},
        Subject{"linear", 4, 4, "auto", false, Collective::gather, false}),
    [](const auto& subject) {
      std::string name;
      for (const char letter :
           fmt::format("{}_{}_{}_{}_{}_{}", to_string(subject.param.collective), subject.param.spec,
                       subject.param.ranks, subject.param.devices, subject.param.p2p,
                       subject.param.share    ? "shared"
                       : subject.param.graphs ? "graph"
                                              : "streams"))
        name += std::isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
      return name;
    });

}  // namespace
}  // namespace ringside::tests
