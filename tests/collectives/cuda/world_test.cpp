// SPDX-License-Identifier: MIT
/// What a user sees of ranks on GPUs beyond right results: streams, captures, buffers of the wrong
/// kind, ranks that disagree, do not come or give up, splits, asynchronous calls, messages.
#include "ringside/collectives/world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ringside/base/options.hpp"
#include "ringside/collectives/communicator.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/collectives/group.hpp"
#include "ringside/tests/collectives/cuda/gpu_test.hpp"
#include "ringside/tests/fakecuda/control.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

using cuda::check;
using fakecuda::Control;

class CudaWorld : public GpuTest {};

TEST_F(CudaWorld, ACallWithoutAStreamIsCompleteWhenItReturnsAndTheRanksDeviceIsCurrent) {
  const std::vector<int> devices = Control::present() ? std::vector{2, 1, 2} : three_ranks;
  World::cuda(devices).run([&](Communicator& comm) {
    EXPECT_EQ(current_device(), devices[static_cast<std::size_t>(comm.rank())]);
    DeviceFloats data(1000, static_cast<float>(comm.rank() + 1));
    for (int i = 0; i < 5; ++i) {
      data.set(static_cast<float>(comm.rank() + 1));
      all_reduce(comm, data);
      EXPECT_EQ(data.get(), std::vector<float>(1000, 6.0F));
    }
  });
}

TEST_F(CudaWorld, RanksMayDifferInWhetherTheyGiveAStream) {
  World::cuda(three_ranks).run([&](Communicator& comm) {
    const auto stream = cuda::Stream::on(current_device());
    DeviceFloats data(1000, 1.0F);
    CallOptions options;
    if (comm.rank() == 1) options.stream = stream.get();
    for (int i = 0; i < 4; ++i) all_reduce(comm, data, options);
    check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize", 0);
    EXPECT_EQ(data.get().front(), 81.0F);
  });
}

TEST_F(CudaWorld, TheDefaultStreamIsAnotherOneOnEveryDevice) {
  const std::vector<int> devices = Control::present() ? std::vector{0, 1} : std::vector{0, 0};
  for (const auto& [graphs, stream] : {std::pair{"0", cudaStream_t{nullptr}},
                                       {"0", cudaStreamLegacy},
                                       std::pair{"1", cudaStream_t{nullptr}},
                                       {"1", cudaStreamLegacy}}) {
    const ScopedOption option("cuda_graphs", graphs);
    World::cuda(devices).run([&, stream = stream](Communicator& comm) {
      constexpr std::size_t bytes = 4000;
      DeviceFloats data(1000, 0.0F);
      const auto pinned = cuda::PinnedMemory::of(bytes);
      auto* const values = reinterpret_cast<float*>(pinned.data());
      std::fill_n(values, 1000, 1.0F);
      comm.barrier();
      check(cudaMemcpyAsync(data.data(), values, bytes, cudaMemcpyDefault, stream), "copy", 0);
      all_reduce(comm, data, {.algorithm = "ring", .stream = stream});
      check(cudaMemcpyAsync(values, data.data(), bytes, cudaMemcpyDefault, stream), "copy", 0);
      check(cudaStreamSynchronize(stream), "synchronize", 0);
      EXPECT_EQ(values[0], 2.0F);  // what is missing, the double reports
      EXPECT_EQ(values[999], 2.0F);
      comm.barrier();
    });
  }
}

TEST_F(CudaWorld, ABarrierInStreamsOrdersTheStreams) {
  World::cuda({0, 0}).run([&](Communicator& comm) {
    static std::atomic<void*> shared{nullptr};
    const auto stream = cuda::Stream::on(current_device());
    DeviceFloats data(100, 1.0F);
    if (comm.rank() == 0) {
      shared = data.data();
      check(cudaMemsetAsync(data.data(), 0, 400, stream.get()), "cudaMemsetAsync", 0);
    }
    comm.barrier({.stream = stream.get()});
    // Without the barrier the double would report a race.
    if (comm.rank() == 1)
      check(cudaMemcpyAsync(data.data(), shared.load(), 400, cudaMemcpyDefault, stream.get()),
            "cudaMemcpyAsync", 0);
    comm.barrier({.stream = stream.get()});
    check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize", 0);
    EXPECT_EQ(data.get().front(), 0.0F);
    comm.barrier();
  });
}

TEST_F(CudaWorld, ACaptureOfAllRanksStreamsHoldsTheCallAndReplaysIt) {
  constexpr int ranks = 3;
  std::array<cudaStream_t, ranks> streams{};
  cudaGraph_t graph = nullptr;
  std::barrier meet(ranks);
  World::cuda(three_ranks).run([&](Communicator& comm) {
    const auto rank = static_cast<std::size_t>(comm.rank());
    const auto stream = cuda::Stream::on(current_device());
    const auto event = cuda::Event::on(current_device());
    streams[rank] = stream.get();
    DeviceFloats data(1000, 1.0F);
    meet.arrive_and_wait();
    if (rank == 0) {
      check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeRelaxed), "begin", 0);
      check(cudaEventRecord(event.get(), stream.get()), "record", 0);
      for (int other = 1; other < ranks; ++other)
        check(cudaStreamWaitEvent(streams[static_cast<std::size_t>(other)], event.get(), 0), "wait",
              0);
    }
    meet.arrive_and_wait();
    for (int i = 0; i < 2; ++i)
      all_reduce(comm, data,
                 {.algorithm = "hierarchical:slices=2,lanes=2", .stream = stream.get()});
    // Joined again, by events of their own.
    const auto joined = cuda::Event::on(current_device());
    static std::array<std::atomic<cudaEvent_t>, ranks> ends;
    if (rank > 0) check(cudaEventRecord(joined.get(), stream.get()), "record", 0);
    ends[rank] = joined.get();
    meet.arrive_and_wait();
    if (rank == 0) {
      for (int other = 1; other < ranks; ++other)
        check(cudaStreamWaitEvent(stream.get(), ends[static_cast<std::size_t>(other)], 0), "wait",
              0);
      check(cudaStreamEndCapture(stream.get(), &graph), "end", 0);
    }
    meet.arrive_and_wait();
    EXPECT_EQ(data.get().front(), 1.0F) << "captured, not run";
    meet.arrive_and_wait();
    meet.arrive_and_wait();
    if (rank == 0) {
      const cuda::Graph owned(graph, 0);
      cudaGraphExec_t made = nullptr;
      check(cudaGraphInstantiate(&made, graph, 0), "instantiate", 0);
      const cuda::GraphExec executable(made, 0);
      for (int i = 0; i < 2; ++i) check(cudaGraphLaunch(made, stream.get()), "launch", 0);
      check(cudaStreamSynchronize(stream.get()), "synchronize", 0);
    }
    meet.arrive_and_wait();
    EXPECT_EQ(data.get().front(), 81.0F) << "two launches of two calls";
    all_reduce(comm, data);  // and the communicator works on
    EXPECT_EQ(data.get().front(), 243.0F);
    meet.arrive_and_wait();
  });
}

TEST_F(CudaWorld, ACaptureOfSomeRanksStreamsIsRefusedAndTheCommunicatorWorksOn) {
  World::cuda({0, 0}).run([&](Communicator& comm) {
    const auto stream = cuda::Stream::on(current_device());
    DeviceFloats data(100, 1.0F);
    comm.barrier();  // who makes its data waits for the device, which no capture stands
    if (comm.rank() == 1)
      check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeRelaxed), "begin", 0);
    const auto refused = outcome_of([&] { all_reduce(comm, data, {.stream = stream.get()}); });
    EXPECT_EQ(refused.code, ErrorCode::invalid_argument) << refused.what;
    EXPECT_NE(refused.what.find("capture"), std::string::npos) << refused.what;
    if (comm.rank() == 1) {
      cudaGraph_t graph = nullptr;
      check(cudaStreamEndCapture(stream.get(), &graph), "end", 0);
      const cuda::Graph owned(graph, 0);
    }
    all_reduce(comm, data);
    EXPECT_EQ(data.get().front(), 2.0F);
  });
}

/// Takes a stream into the capture of another one.
void join_capture(cudaStream_t capturing, cudaStream_t joining, const cuda::Event& event) {
  check(cudaEventRecord(event.get(), capturing), "record", 0);
  check(cudaStreamWaitEvent(joining, event.get(), 0), "wait", 0);
}

TEST_F(CudaWorld, ACaptureThatEndsBadlyIsTheCallersAffairAlone) {
  // Spoiled before the call, and between the call and the end of the capture.
  for (const bool before : {true, false}) {
    std::array<cudaStream_t, 2> streams{};
    std::barrier meet(2);
    World::cuda({0, 0}).run([&](Communicator& comm) {
      const bool first = comm.rank() == 0;
      const auto stream = cuda::Stream::on(current_device());
      const auto fork = cuda::Event::on(current_device());
      const auto joined = cuda::Event::on(current_device());
      streams[first ? 0 : 1] = stream.get();
      DeviceFloats data(1000, 1.0F);
      meet.arrive_and_wait();
      const auto spoil = [&] {
        if (first) {
          EXPECT_EQ(cudaStreamQuery(stream.get()), cudaErrorStreamCaptureUnsupported);
        }
        (void)cudaGetLastError();
        meet.arrive_and_wait();
      };
      for (const bool is_spoiled : {true, true, false}) {
        if (first) {
          check(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeRelaxed), "begin", 0);
          join_capture(streams[0], streams[1], fork);
        }
        meet.arrive_and_wait();
        if (is_spoiled && before) spoil();
        const auto call = outcome_of([&] { all_reduce(comm, data, {.stream = stream.get()}); });
        const auto barrier = outcome_of([&] { comm.barrier({.stream = stream.get()}); });
        if (is_spoiled && before) {
          EXPECT_EQ(call.code, ErrorCode::invalid_argument) << call.what;
          EXPECT_NE(call.what.find("capture"), std::string::npos) << call.what;
          EXPECT_EQ(barrier.code, ErrorCode::invalid_argument) << barrier.what;
        } else {
          EXPECT_EQ(call.what + barrier.what, "");
        }
        if (is_spoiled && !before) spoil();
        if (!first && !is_spoiled) check(cudaEventRecord(joined.get(), stream.get()), "record", 0);
        static std::atomic<cudaEvent_t> end;
        if (!first) end = joined.get();
        meet.arrive_and_wait();
        if (first) {
          if (!is_spoiled) check(cudaStreamWaitEvent(stream.get(), end, 0), "wait", 0);
          cudaGraph_t graph = nullptr;
          EXPECT_EQ(cudaStreamEndCapture(stream.get(), &graph),
                    is_spoiled ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
          (void)cudaGetLastError();
          const cuda::Graph owned(graph, 0);
          if (!is_spoiled) {
            cudaGraphExec_t made = nullptr;
            check(cudaGraphInstantiate(&made, graph, 0), "instantiate", 0);
            const cuda::GraphExec executable(made, 0);
            check(cudaGraphLaunch(made, stream.get()), "launch", 0);
            check(cudaStreamSynchronize(stream.get()), "synchronize", 0);
          }
        }
        meet.arrive_and_wait();
      }
      EXPECT_EQ(data.get().front(), 2.0F) << "only the last capture ran";
      all_reduce(comm, data);
      EXPECT_EQ(data.get().front(), 4.0F);
      meet.arrive_and_wait();
    });
  }
}

TEST_F(CudaWorld, ACaptureThatIsAbandonedIsTheCallersAffairAlone) {
  std::array<cudaStream_t, 2> streams{};
  std::barrier meet(2);
  World::cuda({0, 0}).run([&](Communicator& comm) {
    const bool first = comm.rank() == 0;
    DeviceFloats data(1000, 1.0F);
    const auto event = cuda::Event::on(current_device());
    for (int i = 0; i < 2; ++i) {
      auto stream = cuda::Stream::on(current_device());
      streams[first ? 0 : 1] = stream.get();
      meet.arrive_and_wait();
      if (first) {
        check(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeRelaxed), "begin", 0);
        join_capture(streams[0], streams[1], event);
      }
      meet.arrive_and_wait();
      all_reduce(comm, data, {.stream = stream.get()});
      meet.arrive_and_wait();
      stream = cuda::Stream();  // and the capture has not ended
      meet.arrive_and_wait();
    }
    all_reduce(comm, data);
    EXPECT_EQ(data.get().front(), 2.0F);
    meet.arrive_and_wait();
  });
}

TEST_F(CudaWorld, CallsAndCapturesElsewhereDoEachOtherNoHarm) {
  for (const char* graphs : {"0", "1"}) {
    const ScopedOption option("cuda_graphs", graphs);
    std::barrier meet(2);
    World::cuda({0, 0}).run([&](Communicator& comm) {
      const auto elsewhere = cuda::Stream::on(current_device());
      const auto stream = cuda::Stream::on(current_device());
      DeviceFloats data(1000, 1.0F), message(10, 5.0F);
      meet.arrive_and_wait();
      // Global: what is unsafe is forbidden to all threads.
      if (comm.rank() == 0)
        check(cudaStreamBeginCapture(elsewhere.get(), cudaStreamCaptureModeGlobal), "begin", 0);
      meet.arrive_and_wait();
      all_reduce(comm, data);
      all_reduce(comm, data, {.stream = stream.get()});
      if (comm.rank() == 0)
        comm.send(message.data(), 10, ElementType::float32, 1);
      else
        comm.recv(message.data(), 10, ElementType::float32, 0);
      meet.arrive_and_wait();
      if (comm.rank() == 0) {
        cudaGraph_t graph = nullptr;
        EXPECT_EQ(cudaStreamEndCapture(elsewhere.get(), &graph), cudaSuccess);
        const cuda::Graph owned(graph, 0);
      }
      meet.arrive_and_wait();
      check(cudaStreamSynchronize(stream.get()), "synchronize", 0);
      EXPECT_EQ(data.get().back(), 4.0F);
      meet.arrive_and_wait();
    });
  }
}

TEST_F(CudaWorld, OtherThreadsMayWaitForTheDeviceAtAnyTimeAlsoWhileGraphsAreMade) {
  const ScopedOption graphs("cuda_graphs", "1");
  std::atomic<bool> over{false};
  int refused = 0;
  std::thread other([&] {
    while (!over) {
      refused += cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  try {
    World::cuda(three_ranks).run([&](Communicator& comm) {
      for (int i = 0; i < 20; ++i) {
        DeviceFloats data(1000, 1.0F);                            // another buffer, another graph
        all_reduce(comm, data, {.algorithm = "ring:slices=32"});  // long to make
        EXPECT_EQ(data.get().front(), 3.0F);
      }
    });
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
  over = true;
  other.join();
  EXPECT_EQ(refused, 0);
}

TEST_F(CudaWorld, PartsOfASplitWorkByThemselves) {
  const std::vector<int> devices =
      Control::present() ? std::vector{0, 1, 2, 3} : std::vector{0, 0, 0, 0};
  World::cuda(devices).run([&](Communicator& comm) {
    auto part = comm.split(comm.rank() % 2);
    ASSERT_TRUE(part);
    DeviceFloats data(100, static_cast<float>(comm.rank()));
    all_reduce(*part, data);
    EXPECT_EQ(data.get().front(), comm.rank() % 2 == 0 ? 2.0F : 4.0F);
  });
}

TEST_F(CudaWorld, AsynchronousCallsAndGroupsRun) {
  World::cuda(three_ranks).run([&](Communicator& comm) {
    DeviceFloats first(100, 1.0F), second(5000, 2.0F);
    auto one = comm.async().all_reduce(first.data(), first.data(), 100, ElementType::float32,
                                       ReduceOp::sum);
    auto other = comm.async().all_reduce(second.data(), second.data(), 5000, ElementType::float32,
                                         ReduceOp::sum);
    other.wait();
    one.wait();
    EXPECT_EQ(first.get().front(), 3.0F);
    EXPECT_EQ(second.get().front(), 6.0F);
    grouped([&] {
      all_reduce(comm, first);
      all_reduce(comm, second);
    });
    EXPECT_EQ(first.get().front(), 9.0F);
    EXPECT_EQ(second.get().front(), 18.0F);
  });
}

TEST_F(CudaWorld, MessagesGoFromRankToRank) {
  const std::vector<int> devices = Control::present() ? std::vector{0, 1} : std::vector{0, 0};
  World::cuda(devices).run([&](Communicator& comm) {
    DeviceFloats data(100, comm.rank() == 0 ? 7.0F : 0.0F);
    if (comm.rank() == 0)
      comm.send(data.data(), 100, ElementType::float32, 1);
    else
      comm.recv(data.data(), 100, ElementType::float32, 0);
    EXPECT_EQ(data.get(), std::vector<float>(100, 7.0F));
  });
}

TEST_F(CudaWorld, ExplainsACallOnTheMachineOfTheOptionTopology) {
  const ScopedOption topology("topology", "4gpu-pcie4-two-switches");
  const std::vector<int> devices = Control::present() ? std::vector{0, 1, 2} : three_ranks;
  World::cuda(devices).run([&](Communicator& comm) {
    if (comm.rank() != 0) return;
    const std::string text = comm.explain(Collective::all_reduce, 45 << 20);
    EXPECT_NE(text.find("Why: 4gpu-pcie4-two-switches"), std::string::npos) << text;
    const char* const bound = Control::present() ? "No plan can beat" : "No bound";
    EXPECT_NE(text.find(bound), std::string::npos) << text;
    EXPECT_NE(comm.explain(Collective::broadcast, 0, false, {.algorithm = "linear"})
                  .find("It moves nothing"),
              std::string::npos);
  });
}

TEST_F(CudaWorld, CallsThatGrowKeepNoMoreScratchThanTwiceTheLast) {
  if (!Control::present()) GTEST_SKIP() << "needs a small device";
  auto configuration = Control::environment();
  constexpr std::size_t unit = std::size_t{1} << 12, calls = 60;
  configuration.memory = unit * (calls + 5 * calls);
  Control::reset(configuration);
  const ScopedOption graphs("cuda_graphs", "0");
  World::cuda({0, 1}).run([&](Communicator& comm) {
    DeviceFloats data(unit / sizeof(float) * calls, 1.0F);
    for (std::size_t n = 1; n <= calls; ++n)
      comm.all_reduce(data.data(), data.data(), unit / sizeof(float) * n, ElementType::float32,
                      ReduceOp::max, {.algorithm = "recursive_doubling"});
  });
}

}  // namespace
}  // namespace ringside::tests
