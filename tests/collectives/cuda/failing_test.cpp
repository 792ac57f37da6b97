// SPDX-License-Identifier: MIT
/// What ranks on GPUs are told when something is wrong: buffers and streams of the wrong kind,
/// ranks that disagree, do not come or give up, devices that fail, lose data or never finish.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/collectives/communicator.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/collectives/cuda/gpu_test.hpp"
#include "ringside/tests/fakecuda/control.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

using cuda::check;
using fakecuda::Control;

class CudaFailing : public GpuTest {};

TEST_F(CudaFailing, TheDefaultStreamOfAThreadIsRefused) {
  World::cuda({0, 0}).run([&](Communicator& comm) {
    DeviceFloats data(100, 1.0F);
    const auto refused =
        outcome_of([&] { all_reduce(comm, data, {.stream = cudaStreamPerThread}); });
    EXPECT_EQ(refused.code, ErrorCode::invalid_argument) << refused.what;
    EXPECT_TRUE(refused.says("cudaStreamPerThread")) << refused.what;
    all_reduce(comm, data);
    EXPECT_EQ(data.get().front(), 2.0F);
  });
}

TEST_F(CudaFailing, TheRankHearsInTheCallWhatFailedOnItsDeviceAlsoInAGraph) {
  if (!Control::present()) GTEST_SKIP() << "needs planted faults";
  const ScopedOption graphs("cuda_graphs", "1");
  std::vector<std::string> told_first;
  for (int n = 1; n <= 40; ++n) {
    Control::reset();
    std::array<std::string, 2> told;
    std::barrier meet(2);
    (void)outcome_of([&] {
      World::cuda({0, 1}).run([&](Communicator& comm) {
        DeviceFloats data(1000, 1.0F);
        meet.arrive_and_wait();
        if (comm.rank() == 0)
          Control::fault_operation(Control::operations() + static_cast<std::uint64_t>(n),
                                   cudaErrorIllegalAddress);
        meet.arrive_and_wait();
        told[static_cast<std::size_t>(comm.rank())] =
            outcome_of([&] { all_reduce(comm, data, {.algorithm = "ring"}); }).what;
      });
    });
    (void)Control::take_reports();
    if (told[0].empty() && told[1].empty()) break;  // behind the call
    told_first.push_back(told[0] + told[1]);
  }
  const auto names = [&](const char* device) {
    return std::any_of(told_first.begin(), told_first.end(), [&](const std::string& text) {
      return text.find(device) != std::string::npos;
    });
  };
  EXPECT_GE(told_first.size(), 4u) << "every operation of a ring of two";
  EXPECT_TRUE(names("device 0"));
  EXPECT_TRUE(names("device 1"));
}

TEST_F(CudaFailing, MemoryThatTheRanksDeviceCannotTouchIsRefused) {
  World::cuda({0, 0}).run([&](Communicator& comm) {
    std::vector<float> ordinary(100, 1.0F);
    const auto refused = outcome_of([&] { comm.all_reduce(std::span(ordinary), ReduceOp::sum); });
    EXPECT_EQ(refused.code, ErrorCode::invalid_argument) << refused.what;
    EXPECT_NE(refused.what.find("no memory of CUDA"), std::string::npos) << refused.what;
    if (!Control::present()) return;
    const cuda::DeviceMemory other = cuda::DeviceMemory::on(1, 400);
    const auto wrong = outcome_of([&] {
      comm.all_reduce(other.data(), other.data(), 100, ElementType::float32, ReduceOp::sum);
    });
    EXPECT_EQ(wrong.code, ErrorCode::invalid_argument) << wrong.what;
    EXPECT_NE(wrong.what.find("memory of device 1"), std::string::npos) << wrong.what;
  });
}

TEST_F(CudaFailing, RanksThatMakeDifferentCallsAllHearItAndWorkOn) {
  World::cuda(three_ranks).run([&](Communicator& comm) {
    DeviceFloats data(100, 1.0F);
    const auto outcome = outcome_of([&] {
      comm.all_reduce(data.data(), data.data(), comm.rank() == 2 ? 99 : 100, ElementType::float32,
                      ReduceOp::sum);
    });
    EXPECT_EQ(outcome.code, ErrorCode::mismatch) << outcome.what;
    EXPECT_EQ(data.get().front(), 1.0F);
    all_reduce(comm, data);
    EXPECT_EQ(data.get().front(), 3.0F);
  });
}

TEST_F(CudaFailing, ARankThatDoesNotComeIsNamedInTime) {
  const auto told = outcome_of([&] {
    World::cuda({0, 0}).run([&](Communicator& comm) {
      DeviceFloats data(100, 1.0F);
      if (comm.rank() == 0) all_reduce(comm, data, {.timeout = std::chrono::milliseconds(50)});
    });
  });
  EXPECT_EQ(told.code, ErrorCode::timeout) << told.what;
  EXPECT_NE(told.what.find("rank 1 has not entered all_reduce"), std::string::npos) << told.what;
}

TEST_F(CudaFailing, NobodyLeavesWhileRankZeroHasItsBuffersInHand) {
  if (!Control::present()) GTEST_SKIP() << "no real runtime is that slow";
  std::barrier meet(4);
  World::cuda({0, 1, 2, 3}).run([&](Communicator& comm) {
    DeviceFloats data(std::size_t{1} << 16, 1.0F);
    const auto stream = cuda::Stream::on(current_device());
    CallOptions options{.algorithm = "ring:slices=256", .stream = stream.get()};
    meet.arrive_and_wait();
    if (comm.rank() ==
        1) {  // all others have entered, and to issue the call takes longer than this
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      options.timeout = std::chrono::milliseconds(1);
    }
    const auto told = outcome_of([&] { all_reduce(comm, data, options); });
    EXPECT_EQ(told.what, "");
    check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize", 0);
    EXPECT_EQ(data.get().front(), 4.0F);
  });
}

TEST_F(CudaFailing, AnAbortAtAnyMomentEndsAllRanks) {
  auto world = World::cuda(three_ranks);
  const Stopwatch watch;
  for (int run = 0; run < 300; ++run) {
    std::barrier ready(2);
    (void)outcome_of([&] {
      world.run([&](Communicator& comm) {
        if (comm.rank() < 2) return comm.barrier();
        std::thread other([&] {
          ready.arrive_and_wait();
          for (int i = 0; i < run * 10; ++i) cpu_relax();  // about until all have entered
          comm.abort("stop");
        });
        ready.arrive_and_wait();
        const auto error = exception_of([&] { comm.barrier(); });
        other.join();
        if (error) std::rethrow_exception(error);
      });
    });
  }
  EXPECT_LT(watch.elapsed(), Seconds{60});
}

TEST_F(CudaFailing, ADeviceThatNeverFinishesIsNamedInTimeAndLeftBehind) {
  if (!Control::present()) GTEST_SKIP() << "would block a real device";
  auto configuration = Control::environment();
  configuration.faults = "hang!:0-1";
  Control::reset(configuration);
  const ScopedOption timeout("timeout", "100ms");
  std::barrier both(2);
  const auto told = outcome_of([&] {
    World::cuda({0, 0}).run([&](Communicator& comm) {
      DeviceFloats data(100, 1.0F);
      const auto stream = cuda::Stream::on(0);
      const auto here = cuda::DeviceMemory::on(0, 400), there = cuda::DeviceMemory::on(1, 400);
      both.arrive_and_wait();  // from then on nobody can wait for the device
      if (comm.rank() == 0)
        check(cudaMemcpyPeerAsync(there.data(), 1, here.data(), 0, 400, stream.get()), "copy", 0);
      comm.all_reduce(here.data(), here.data(), 100, ElementType::float32, ReduceOp::sum,
                      {.stream = stream.get()});
      const auto hangs = outcome_of([&] { all_reduce(comm, data); });
      EXPECT_EQ(hangs.code, ErrorCode::timeout) << hangs.what;
      EXPECT_TRUE(hangs.says("device 0 has not finished all_reduce")) << hangs.what;
      both.arrive_and_wait();
      Control::release_hangs();
    });
  });
  EXPECT_EQ(told.code, std::nullopt) << "a body that has caught it: " << told.what;
  (void)Control::take_reports();
}

TEST_F(CudaFailing, WhatADeviceMayStillUseOutlivesTheWorldTheSumsOfACheckedCallToo) {
  if (!Control::present()) GTEST_SKIP() << "would block a real device";
  auto configuration = Control::environment();
  configuration.faults = "hang!:0-1";
  Control::reset(configuration);
  const ScopedOption timeout("timeout", "100ms"), checksum("checksum", "1");
  {
    const auto stream = cuda::Stream::on(0);
    const auto near = cuda::DeviceMemory::on(0, 400), far = cuda::DeviceMemory::on(1, 400);
    const auto data = cuda::DeviceMemory::on(0, 800);
    std::barrier both(2);
    (void)outcome_of([&] {
      World::cuda({0, 0}).run([&](Communicator& comm) {
        std::byte* own = data.data() + 400 * comm.rank();
        const auto sum_up = [&](const CallOptions& options) {
          comm.all_reduce(own, own, 100, ElementType::float32, ReduceOp::sum, options);
        };
        sum_up({});
        both.arrive_and_wait();
        if (comm.rank() == 0)
          check(cudaMemcpyPeerAsync(far.data(), 1, near.data(), 0, 400, stream.get()), "copy", 0);
        both.arrive_and_wait();
        const auto hangs = outcome_of([&] { sum_up({.stream = stream.get()}); });
        EXPECT_EQ(hangs.code, ErrorCode::timeout) << hangs.what;
      });
    });
    for (const auto& report : Control::take_reports())
      EXPECT_NE(report.kind, fakecuda::ReportKind::pending_free) << report.text;
    Control::release_hangs();
  }
  (void)Control::take_reports();
  Control::reset();  // what was left behind
}

TEST_F(CudaFailing, ADeviceThatDoesNotExistIsRefused) {
  const auto refused = outcome_of([] { (void)World::cuda({0, 99}); });
  EXPECT_EQ(refused.code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.what.find("there is no GPU 99"), std::string::npos) << refused.what;
}

TEST_F(CudaFailing, PeerAccessThatHangsIsToldInTime) {
  if (!Control::present()) GTEST_SKIP() << "needs planted faults";
  auto configuration = Control::environment();
  configuration.faults = "hang:0-1";
  Control::reset(configuration);
  const ScopedOption timeout("timeout", "100ms");
  const auto told = outcome_of([] { (void)World::cuda({0, 1}); });
  EXPECT_EQ(told.code, ErrorCode::timeout) << told.what;
  EXPECT_TRUE(told.says("device 0") && told.says("device 1") && told.says("--preflight"))
      << told.what;
  Control::reset();  // what was left behind
}

TEST_F(CudaFailing, AMessageThatHangsIsToldInTimeAtBothEnds) {
  if (!Control::present()) GTEST_SKIP() << "needs planted faults";
  auto configuration = Control::environment();
  configuration.faults = "hang!:0-1";
  Control::reset(configuration);
  const ScopedOption timeout("timeout", "500ms");
  const ScopedOption p2p("cuda_p2p", "none");
  std::barrier both(2);
  World::cuda({0, 1}).run([&](Communicator& comm) {
    DeviceFloats data(100, 1.0F);
    both.arrive_and_wait();
    const CallOptions options{.timeout = std::chrono::milliseconds(100)};
    const auto told = outcome_of([&] {
      if (comm.rank() == 0)
        comm.send(data.data(), 100, ElementType::float32, 1, options);
      else
        comm.recv(data.data(), 100, ElementType::float32, 0, options);
    });
    EXPECT_EQ(told.code, ErrorCode::timeout) << told.what;
    both.arrive_and_wait();
    if (comm.rank() == 0) Control::release_hangs();
    both.arrive_and_wait();
  });
  (void)Control::take_reports();
}

TEST_F(CudaFailing, AStreamOfAnotherDeviceIsRefusedAndTheCommunicatorWorksOn) {
  if (!Control::present()) GTEST_SKIP() << "needs two devices";
  World::cuda({0, 1}).run([&](Communicator& comm) {
    DeviceFloats data(100, 1.0F);
    const auto stream = cuda::Stream::on(1 - comm.rank());
    const auto refused = outcome_of([&] { all_reduce(comm, data, {.stream = stream.get()}); });
    EXPECT_EQ(refused.code, ErrorCode::invalid_argument) << refused.what;
    EXPECT_TRUE(refused.says("is one of device")) << refused.what;
    all_reduce(comm, data);
    EXPECT_EQ(data.get().front(), 2.0F);
  });
}

TEST_F(CudaFailing, AnotherRanksSpoiledCaptureEndsNobodysCommunicator) {
  std::array<cudaStream_t, 2> streams{};
  std::barrier meet(2);
  World::cuda({0, 0}).run([&](Communicator& comm) {
    const bool first = comm.rank() == 0;
    const auto stream = cuda::Stream::on(current_device());
    DeviceFloats data(100, 1.0F);
    streams[first ? 0 : 1] = stream.get();
    meet.arrive_and_wait();
    if (first) {
      check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeRelaxed), "begin", 0);
      EXPECT_EQ(cudaStreamQuery(stream.get()), cudaErrorStreamCaptureUnsupported);
      (void)cudaGetLastError();
      const auto refused = outcome_of([&] { all_reduce(comm, data, {.stream = stream.get()}); });
      EXPECT_EQ(refused.code, ErrorCode::invalid_argument) << refused.what;
      EXPECT_EQ(refused.rank, 0);
      cudaGraph_t graph = nullptr;
      EXPECT_EQ(cudaStreamEndCapture(stream.get(), &graph), cudaErrorStreamCaptureInvalidated);
      (void)cudaGetLastError();
    }
    all_reduce(comm, data);
    EXPECT_EQ(data.get().front(), 2.0F);
  });
}

TEST_F(CudaFailing, ACallThatFindsNoMemoryIsRefusedAndTheCommunicatorWorksOn) {
  if (!Control::present()) GTEST_SKIP() << "needs a small device";
  auto configuration = Control::environment();
  configuration.memory = std::size_t{1} << 20;
  Control::reset(configuration);
  const ScopedOption graphs("cuda_graphs", "0");
  World::cuda({0, 1}).run([&](Communicator& comm) {
    DeviceFloats data(200'000, 1.0F);
    const auto refused = outcome_of([&] {
      comm.all_reduce(data.data(), data.data(), 200'000, ElementType::float32, ReduceOp::sum,
                      {.algorithm = "recursive_doubling"});
    });
    EXPECT_EQ(refused.code, ErrorCode::io) << refused.what;
    EXPECT_TRUE(refused.says("out of memory")) << refused.what;
    comm.all_reduce(data.data(), data.data(), 100, ElementType::float32, ReduceOp::sum,
                    {.algorithm = "recursive_doubling"});
    EXPECT_EQ(data.get().front(), 2.0F);
  });
}

TEST_F(CudaFailing, PeerAccessThatLosesDataIsNotUsed) {
  if (!Control::present()) GTEST_SKIP() << "needs planted faults";
  for (const char* fault : {"lost:0-1", "offset:0-1", "corrupt:1-0"}) {
    auto configuration = Control::environment();
    configuration.faults = fault;
    Control::reset(configuration);
    World::cuda({0, 1}).run([&](Communicator& comm) {
      DeviceFloats data(1000, 1.0F);
      for (const char* spec : {"ring", "two_shot:transfer=push", "one_shot"}) {
        data.set(1.0F);
        all_reduce(comm, data, {.algorithm = spec});
        EXPECT_EQ(data.get(), std::vector<float>(1000, 2.0F)) << fault << ", " << spec;
      }
    });
  }
}

}  // namespace
}  // namespace ringside::tests
