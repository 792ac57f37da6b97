// SPDX-License-Identifier: MIT
/// Whatever the runtime refuses or a device gets wrong is told, nothing is left behind, and the
/// process goes on: every call of the runtime fails once, from the making of a world to its end,
/// and so does every operation.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "ringside/base/options.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/collectives/cuda/device_rank.hpp"
#include "ringside/tests/collectives/host/tried_call.hpp"
#include "ringside/tests/fakecuda/control.hpp"

namespace ringside::tests {
namespace {

using fakecuda::Control;

/// How the ranks call.
struct Way {
  const char* name;
  const char* graphs;  ///< the option cuda_graphs
  bool in_streams;
  const char* p2p;
};
constexpr std::array<Way, 4> ways = {{{"streams", "0", true, "auto"},
                                      {"graph", "1", true, "auto"},
                                      {"blocking", "0", false, "auto"},
                                      {"through the host", "0", false, "none"}}};

/// What somebody was told, or nothing. `body` says more of the run.
struct Outcome {
  std::string told;
  bool wrong = false;  ///< a rank that was told nothing has a wrong result
};

void run_ranks(Communicator& comm, const TriedCall& call, const Way& way,
               std::atomic<bool>& wrong) {
  const auto expected = by_reference(call, make_plan(call.spec, call.request), Round::exact);
  DeviceRank device(call.bytes());
  RankMemory memory(call, comm.rank());
  for (int i = 0; i < 2; ++i) device.put_round(comm, call, memory, 1, way.in_streams);
  device.synchronize();
  const auto after = device.after(1, memory.bytes().size());
  if (!memory.difference(after, expected[static_cast<std::size_t>(comm.rank())]).empty())
    wrong = true;
}

Outcome outcome(const Way& way) {
  const ScopedOption graphs("cuda_graphs", way.graphs);
  const ScopedOption p2p("cuda_p2p", way.p2p);
  const ScopedOption timeout("timeout", "5s");
  const TriedCall call{
      {Collective::all_reduce, 3, 0, true}, "ring", {101}, ElementType::float32, ReduceOp::sum, 3};
  Outcome outcome;
  std::atomic<bool> wrong{false};
  try {
    World world = World::cuda({0, 1, 1});
    world.run([&](Communicator& comm) { run_ranks(comm, call, way, wrong); });
  } catch (const Error& error) {
    outcome.told = error.what();
  }
  outcome.wrong = wrong;
  return outcome;
}

void reset() {
  auto configuration = Control::environment();
  configuration.devices = 2;
  Control::reset(configuration);
}

/// Functions whose failure need not be told: they give something back at the end, when there is
/// nobody to tell; they set the caller's device back; or they ask whether something is over, and
/// the answer is taken for a yes.
bool may_be_silent(const std::string& function) {
  static const std::set<std::string> functions = {"cudaFree",
                                                  "cudaFreeHost",
                                                  "cudaStreamDestroy",
                                                  "cudaEventDestroy",
                                                  "cudaGraphDestroy",
                                                  "cudaGraphExecDestroy",
                                                  "cudaSetDevice",
                                                  "cudaStreamQuery",
                                                  "cudaStreamSynchronize",
                                                  "cudaThreadExchangeStreamCaptureMode"};
  return functions.contains(function);
}

/// What a failed release leaves: the one thing.
bool is_release(const std::string& function) {
  return function.find("Free") != std::string::npos ||
         function.find("Destroy") != std::string::npos;
}

class Errors : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (!Control::present()) GTEST_SKIP() << "needs the test double";
  }
};

TEST_P(Errors, EveryCallOfTheRuntimeThatFailsIsToldAndLeavesNothing) {
  constexpr int out_of_memory = cudaErrorMemoryAllocation;
  std::uint64_t failed = 0, silent = 0;
  // The numbers of calls differ a little from run to run: ranks poll.
  for (std::uint64_t n = 1;; ++n) {
    reset();
    Control::fail_call(n, out_of_memory);
    const Outcome result = outcome(GetParam());
    const std::string function = Control::failed_call();
    if (function.empty()) break;
    ++failed;
    if (result.told.empty()) {
      ++silent;
      EXPECT_TRUE(may_be_silent(function)) << "call " << n << ", " << function;
      EXPECT_FALSE(result.wrong) << "call " << n << ", " << function;
    }
    const auto leaks = Control::leaks();
    EXPECT_LE(leaks.size(), is_release(function) ? 1u : 0u)
        << "call " << n << ", " << function << ": " << leaks.front();
    (void)Control::take_reports();
  }
  EXPECT_GT(failed, 100u);
  fmt::print("cuda errors, {}: {} calls failed once, {} untold (releases, queries)\n",
             GetParam().name, failed, silent);
}

TEST_P(Errors, EveryOperationThatFailsIsTold) {
  constexpr int illegal_address = cudaErrorIllegalAddress;
  reset();
  ASSERT_EQ(outcome(GetParam()).told, "");
  const std::uint64_t operations = Control::operations();
  (void)Control::take_reports();
  for (std::uint64_t n = 1; n <= operations; ++n) {
    reset();
    Control::fault_operation(n, illegal_address);
    EXPECT_NE(outcome(GetParam()).told, "") << "operation " << n << " of " << operations;
    (void)Control::take_reports();
  }
  fmt::print("cuda errors, {}: {} operations failed once\n", GetParam().name, operations);
}

TEST(ErrorsOfOtherDevices, ACallWhoseDataCameFromAFailedDeviceDoesNotSucceed) {
  if (!Control::present()) GTEST_SKIP() << "needs the test double";
  constexpr std::size_t count = 64, bytes = count * sizeof(float);
  const ScopedOption graphs("cuda_graphs", "0");
  const ScopedOption timeout("timeout", "5s");
  std::atomic<int> wrong{0};
  const auto body = [&](Communicator& comm) {
    const auto pinned = cuda::PinnedMemory::of(bytes);
    const auto input = cuda::DeviceMemory::on(comm.rank(), bytes);
    const auto output = cuda::DeviceMemory::on(comm.rank(), bytes);
    const auto stream = cuda::Stream::on(comm.rank());
    auto* const values = reinterpret_cast<float*>(pinned.data());
    std::fill_n(values, count, 1.0F);
    const auto copy = [&](void* to, const void* from) {
      cuda::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream.get()), "copy", 0);
      cuda::check(cudaStreamSynchronize(stream.get()), "synchronize", 0);
    };
    copy(input.data(), values);
    comm.barrier();
    comm.all_reduce(input.data(), output.data(), count, ElementType::float32, ReduceOp::sum,
                    {.algorithm = "ring"});
    copy(values, output.data());
    if (std::any_of(values, values + count, [](float value) { return value != 3.0F; })) ++wrong;
  };
  const auto run = [&] { World::cuda({0, 1, 2}).run(body); };
  Control::reset();
  run();
  const std::uint64_t operations = Control::operations();
  for (std::uint64_t n = operations - 18; n <= operations; ++n) {
    Control::reset();
    Control::fault_operation(n, cudaErrorIllegalAddress);
    EXPECT_THROW(run(), Error) << "operation " << n;
    EXPECT_EQ(wrong.exchange(0), 0) << "operation " << n;
    (void)Control::take_reports();
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Errors, testing::ValuesIn(ways), [](const auto& way) {
  std::string name = way.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

}  // namespace
}  // namespace ringside::tests
