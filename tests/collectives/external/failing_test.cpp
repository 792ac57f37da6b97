// SPDX-License-Identifier: MIT
/// What NCCL or a rank does wrong is told to all ranks in time, leaves nothing behind, and the next
/// run starts afresh.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "ringside/collectives/group.hpp"
#include "ringside/tests/collectives/external/fixture.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

using namespace std::chrono_literals;

class NcclFailures : public NcclTest {
 protected:
  /// A machine on which what the fake hangs does hang.
  void let_hang(int error = 0) {
    auto configuration = fakecuda::Control::environment();
    configuration.faults = "hang!:0-1";
    fakecuda::Control::reset(configuration);
    fake.hang(true, error);
  }
};

/// A run that uses every function of NCCL.
void use_everything(World& world) {
  world.run([](Communicator& comm) {
    const DeviceFloats in(8, 1), out(8);
    const std::vector<std::size_t> blocks = {3, 5};
    comm.all_reduce(in.data(), out.data(), 8, ElementType::float32, ReduceOp::premul_sum,
                    {.scalar = 2});
    comm.reduce_scatter(in.data(), out.data(), 4, ElementType::float32, ReduceOp::sum);
    comm.all_gather(in.data(), out.data(), blocks, ElementType::float32);
    comm.all_gather(in.data(), out.data(), 4, ElementType::float32);
    comm.reduce(in.data(), out.data(), 8, ElementType::float32, ReduceOp::max, 1);
    comm.all_to_all(in.data(), out.data(), 4, ElementType::float32);
    auto part = comm.split(0, 0);
    part->barrier();
    grouped([&] {
      comm.send(in.span(), 1 - comm.rank());
      comm.recv(out.span(), 1 - comm.rank());
    });
  });
}

TEST_F(NcclFailures, OfEveryFunctionAreReportedAndLeaveNothing) {
  int calls = 0;
  {
    World world = World::nccl({0, 1});
    use_everything(world);
    calls = fake.calls();
  }
  int reported = 0, given_back = 0;
  for (int n = 1; n <= calls + 2; ++n) {
    fakecuda::Control::reset();
    fake.reset();
    fake.fail_call(n, 3);
    const Outcome outcome = outcome_of([] {
      World world = World::nccl({0, 1});
      use_everything(world);
    });
    const auto names = fake.names();
    if (static_cast<int>(names.size()) < n) break;
    const std::string& failed = names[static_cast<std::size_t>(n - 1)];
    EXPECT_EQ(fake.alive(), 0) << failed << ", call " << n;
    EXPECT_TRUE(fakecuda::Control::leaks().empty()) << failed << ", call " << n;
    if (failed == "ncclCommDestroy") {  // of what has done its work: nobody is left to be told
      ++given_back;
      continue;
    }
    ++reported;
    EXPECT_TRUE(outcome.code) << failed << ", call " << n << ", was not reported";
    EXPECT_TRUE(outcome.says(failed + " was told to fail")) << outcome.what;
    EXPECT_TRUE(outcome.says("NCCL 2.28.9")) << outcome.what;
  }
  EXPECT_GE(reported, 40);
  EXPECT_GE(given_back, 2);
}

TEST_F(NcclFailures, OfCudaAreReportedAndLeaveNothing) {
  std::uint64_t calls = 0;
  const auto run = [] {
    World world = World::nccl({0, 1});
    world.run([](Communicator& comm) {
      comm.barrier();
      auto part = comm.split(0, 0);
      part->barrier();
    });
  };
  {
    fakecuda::Control::reset();
    run();
    calls = fakecuda::Control::calls();
  }
  ASSERT_GT(calls, 10u);
  int reported = 0;
  for (std::uint64_t n = 1; n <= calls; ++n) {
    fakecuda::Control::reset();
    fake.reset();
    fakecuda::Control::fail_call(n, cudaErrorUnknown);
    const Outcome outcome = outcome_of(run);
    // What a failed synchronisation leaves pending is freed all the same.
    (void)fakecuda::Control::take_reports();
    EXPECT_EQ(fake.alive(), 0) << "call " << n;
    if (!outcome.code) continue;
    ++reported;
    // A rank may learn of the other's error in its next call.
    EXPECT_TRUE(outcome.code == ErrorCode::device || outcome.code == ErrorCode::unsupported ||
                outcome.code == ErrorCode::failed)
        << "call " << n << ": " << outcome.what;
  }
  EXPECT_GE(reported, 10);
  fakecuda::Control::reset();
}

TEST_F(NcclFailures, ToFinishInTimeAbortNcclsCommunicators) {
  let_hang();
  World world = World::nccl({0, 1});
  const auto begin = std::chrono::steady_clock::now();
  world.run([&](Communicator& comm) {
    const DeviceFloats data(8, 1);
    CallOptions options;
    if (comm.rank() == 0) options.timeout = 100ms;
    const Outcome outcome = outcome_of([&] {
      comm.all_reduce(data.span(), ReduceOp::sum, options);
      comm.barrier();  // for rank 1, which has got its sum
    });
    expect_cause(outcome, ErrorCode::timeout,
                 "device 0 has not finished all_reduce by NCCL after 100 ms");
    expect_cause(outcome_of([&] { comm.barrier(); }), ErrorCode::timeout, "after 100 ms");
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  EXPECT_GE(fake.aborted(), 1);

  fake.hang(false);
  world.run([](Communicator& comm) { expect_works(comm); });
  EXPECT_EQ(fake.aborted(), 2) << "all ranks' communicators had to go";
}

TEST_F(NcclFailures, DoNotComeOfANcclThatIsToldNotToBlock) {
  fake.set_unblocking(true);
  World world = World::nccl({0, 1});
  use_everything(world);
  world.run([](Communicator& comm) { expect_works(comm); });
}

TEST_F(NcclFailures, WhileACallRunsAreToldAsNcclTellsThem) {
  let_hang(6);
  World world = World::nccl({0, 1});
  const Outcome outcome = outcome_of([&] {
    world.run([](Communicator& comm) {
      const DeviceFloats data(8, 1);
      comm.all_reduce(data.span());
      comm.barrier();
    });
  });
  expect_cause(outcome, ErrorCode::device, "NCCL 2.28.9: error while a call ran: remote error");
}

TEST_F(NcclFailures, OfARankThatThrowsEndTheOthersCalls) {
  World world = World::nccl({0, 1, 2});
  const Outcome outcome = outcome_of([&] {
    world.run([](Communicator& comm) {
      comm.barrier();
      if (comm.rank() == 1) throw Error(ErrorCode::bad_input, "no more");
      comm.barrier();
    });
  });
  EXPECT_EQ(outcome.what, "no more");
  world.run([](Communicator& comm) { expect_works(comm); });
}

TEST_F(NcclFailures, OfARankThatDoesNotComeAreToldBeforeNcclIsCalled) {
  World::nccl({0, 1}).run([](Communicator& comm) {
    const DeviceFloats data(8, 1);
    if (comm.rank() == 1) return;
    const Outcome outcome = outcome_of([&] { comm.all_reduce(data.span()); });
    EXPECT_EQ(outcome.code, ErrorCode::timeout);
    EXPECT_TRUE(outcome.says("rank 1 has returned without it")) << outcome.what;
  });
  EXPECT_TRUE(fake.launched().empty());
}

TEST_F(NcclFailures, OfRanksThatDifferInGivingAStreamAreToldAndTheyWorkOn) {
  fakecuda::Control::reset();
  World::nccl({0, 1}).run([](Communicator& comm) {
    const auto data = cuda::DeviceMemory::on(comm.rank(), 400);
    const auto stream = cuda::Stream::on(comm.rank());
    const auto reduce = [&](bool in_stream) {
      CallOptions options;
      if (in_stream) options.stream = stream.get();
      comm.all_reduce(data.data(), data.data(), 100, ElementType::int32, ReduceOp::sum, options);
    };
    const auto told = outcome_of([&] { reduce(comm.rank() == 0); });
    EXPECT_EQ(told.code, ErrorCode::mismatch) << told.what;
    EXPECT_TRUE(told.says("they differ in stream (one and none)")) << told.what;
    reduce(false);
  });
}

TEST_F(NcclFailures, ByAnAbortFromOutsideEndACallThatHangs) {
  let_hang();
  World::nccl({0, 1}).run([](Communicator& comm) {
    const DeviceFloats data(8, 1);
    std::optional<std::jthread> other;
    if (comm.rank() == 0)
      other.emplace([&] {
        std::this_thread::sleep_for(50ms);
        comm.abort("enough");
      });
    const Outcome outcome = outcome_of([&] {
      comm.all_reduce(data.span());
      comm.barrier();
    });
    expect_cause(outcome, ErrorCode::aborted, "enough");
  });
}

}  // namespace
}  // namespace ringside::tests
