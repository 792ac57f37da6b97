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
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/collectives/communicator.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/collectives/group.hpp"
#include "ringside/tests/fakecuda/control.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

using cuda::check;
using fakecuda::Control;

/// A rank's array of floats on its device.
class Floats {
 public:
  Floats(std::size_t count, float value)
      : memory_(cuda::DeviceMemory::on(current(), count * sizeof(float))), count_(count) {
    set(value);
  }
  void set(float value) {
    const std::vector<float> values(count_, value);
    check(cudaMemcpy(data(), values.data(), count_ * sizeof(float), cudaMemcpyDefault),
          "cudaMemcpy", 0);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", 0);
  }
  [[nodiscard]] std::vector<float> get() const {
    std::vector<float> values(count_);
    check(cudaMemcpy(values.data(), memory_.data(), count_ * sizeof(float), cudaMemcpyDefault),
          "cudaMemcpy", 0);
    return values;
  }
  [[nodiscard]] void* data() const { return memory_.data(); }
  [[nodiscard]] std::size_t count() const { return count_; }
  static int current() {
    int device = -1;
    check(cudaGetDevice(&device), "cudaGetDevice", 0);
    return device;
  }

 private:
  cuda::DeviceMemory memory_;
  std::size_t count_;
};

void all_reduce(Communicator& comm, const Floats& data, const CallOptions& options = {}) {
  comm.all_reduce(data.data(), data.data(), data.count(), ElementType::float32, ReduceOp::sum,
                  options);
}

const std::vector<int> three_ranks = {0, 0, 0};

class CudaWorld : public testing::Test {
 protected:
  void SetUp() override {
    if (Control::present()) return Control::reset();
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) GTEST_SKIP() << "no GPU";
  }
  void TearDown() override {
    if (!Control::present()) return;
    for (const auto& report : Control::take_reports()) ADD_FAILURE() << report.text;
    for (const auto& leak : Control::leaks()) ADD_FAILURE() << "left behind: " << leak;
  }
};

TEST_F(CudaWorld, ACallWithoutAStreamIsCompleteWhenItReturnsAndTheRanksDeviceIsCurrent) {
  const std::vector<int> devices = Control::present() ? std::vector{2, 1, 2} : three_ranks;
  World::cuda(devices).run([&](Communicator& comm) {
    EXPECT_EQ(Floats::current(), devices[static_cast<std::size_t>(comm.rank())]);
    Floats data(1000, static_cast<float>(comm.rank() + 1));
    for (int i = 0; i < 5; ++i) {
      data.set(static_cast<float>(comm.rank() + 1));
      all_reduce(comm, data);
      EXPECT_EQ(data.get(), std::vector<float>(1000, 6.0F));
    }
  });
}

TEST_F(CudaWorld, RanksMayDifferInWhetherTheyGiveAStream) {
  World::cuda(three_ranks).run([&](Communicator& comm) {
    const auto stream = cuda::Stream::on(Floats::current());
    Floats data(1000, 1.0F);
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
      Floats data(1000, 0.0F);
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

TEST_F(CudaWorld, TheDefaultStreamOfAThreadIsRefused) {
  World::cuda({0, 0}).run([&](Communicator& comm) {
    Floats data(100, 1.0F);
    const auto refused =
        outcome_of([&] { all_reduce(comm, data, {.stream = cudaStreamPerThread}); });
    EXPECT_EQ(refused.code, ErrorCode::invalid_argument) << refused.what;
    EXPECT_TRUE(refused.says("cudaStreamPerThread")) << refused.what;
    all_reduce(comm, data);
    EXPECT_EQ(data.get().front(), 2.0F);
  });
}

TEST_F(CudaWorld, ABarrierInStreamsOrdersTheStreams) {
  World::cuda({0, 0}).run([&](Communicator& comm) {
    static std::atomic<void*> shared{nullptr};
    const auto stream = cuda::Stream::on(Floats::current());
    Floats data(100, 1.0F);
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
    const auto stream = cuda::Stream::on(Floats::current());
    const auto event = cuda::Event::on(Floats::current());
    streams[rank] = stream.get();
    Floats data(1000, 1.0F);
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
    const auto joined = cuda::Event::on(Floats::current());
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
    const auto stream = cuda::Stream::on(Floats::current());
    Floats data(100, 1.0F);
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
      const auto stream = cuda::Stream::on(Floats::current());
      const auto fork = cuda::Event::on(Floats::current());
      const auto joined = cuda::Event::on(Floats::current());
      streams[first ? 0 : 1] = stream.get();
      Floats data(1000, 1.0F);
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
    Floats data(1000, 1.0F);
    const auto event = cuda::Event::on(Floats::current());
    for (int i = 0; i < 2; ++i) {
      auto stream = cuda::Stream::on(Floats::current());
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
      const auto elsewhere = cuda::Stream::on(Floats::current());
      const auto stream = cuda::Stream::on(Floats::current());
      Floats data(1000, 1.0F), message(10, 5.0F);
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
        Floats data(1000, 1.0F);                                  // another buffer, another graph
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

TEST_F(CudaWorld, TheRankHearsInTheCallWhatFailedOnItsDeviceAlsoInAGraph) {
  if (!Control::present()) GTEST_SKIP() << "needs planted faults";
  const ScopedOption graphs("cuda_graphs", "1");
  std::vector<std::string> told_first;
  for (int n = 1; n <= 40; ++n) {
    Control::reset();
    std::array<std::string, 2> told;
    std::barrier meet(2);
    (void)outcome_of([&] {
      World::cuda({0, 1}).run([&](Communicator& comm) {
        Floats data(1000, 1.0F);
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

TEST_F(CudaWorld, MemoryThatTheRanksDeviceCannotTouchIsRefused) {
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

TEST_F(CudaWorld, RanksThatMakeDifferentCallsAllHearItAndWorkOn) {
  World::cuda(three_ranks).run([&](Communicator& comm) {
    Floats data(100, 1.0F);
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

TEST_F(CudaWorld, ARankThatDoesNotComeIsNamedInTime) {
  std::barrier meet(2);
  const auto told = outcome_of([&] {
    World::cuda({0, 0}).run([&](Communicator& comm) {
      Floats data(100, 1.0F);
      if (comm.rank() == 0) all_reduce(comm, data, {.timeout = std::chrono::milliseconds(50)});
    });
  });
  EXPECT_EQ(told.code, ErrorCode::timeout) << told.what;
  EXPECT_NE(told.what.find("rank 1 has not entered all_reduce"), std::string::npos) << told.what;
}

TEST_F(CudaWorld, NobodyLeavesWhileRankZeroHasItsBuffersInHand) {
  if (!Control::present()) GTEST_SKIP() << "no real runtime is that slow";
  std::barrier meet(4);
  World::cuda({0, 1, 2, 3}).run([&](Communicator& comm) {
    Floats data(std::size_t{1} << 16, 1.0F);
    const auto stream = cuda::Stream::on(Floats::current());
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

TEST_F(CudaWorld, AnAbortAtAnyMomentEndsAllRanks) {
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

TEST_F(CudaWorld, ADeviceThatNeverFinishesIsNamedInTimeAndLeftBehind) {
  if (!Control::present()) GTEST_SKIP() << "would block a real device";
  auto configuration = Control::environment();
  configuration.faults = "hang!:0-1";
  Control::reset(configuration);
  const ScopedOption timeout("timeout", "100ms");
  std::barrier both(2);
  const auto told = outcome_of([&] {
    World::cuda({0, 0}).run([&](Communicator& comm) {
      Floats data(100, 1.0F);
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

TEST_F(CudaWorld, PartsOfASplitWorkByThemselves) {
  const std::vector<int> devices =
      Control::present() ? std::vector{0, 1, 2, 3} : std::vector{0, 0, 0, 0};
  World::cuda(devices).run([&](Communicator& comm) {
    auto part = comm.split(comm.rank() % 2);
    ASSERT_TRUE(part);
    Floats data(100, static_cast<float>(comm.rank()));
    all_reduce(*part, data);
    EXPECT_EQ(data.get().front(), comm.rank() % 2 == 0 ? 2.0F : 4.0F);
  });
}

TEST_F(CudaWorld, AsynchronousCallsAndGroupsRun) {
  World::cuda(three_ranks).run([&](Communicator& comm) {
    Floats first(100, 1.0F), second(5000, 2.0F);
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
    Floats data(100, comm.rank() == 0 ? 7.0F : 0.0F);
    if (comm.rank() == 0)
      comm.send(data.data(), 100, ElementType::float32, 1);
    else
      comm.recv(data.data(), 100, ElementType::float32, 0);
    EXPECT_EQ(data.get(), std::vector<float>(100, 7.0F));
  });
}

TEST_F(CudaWorld, ADeviceThatDoesNotExistIsRefused) {
  const auto refused = outcome_of([] { (void)World::cuda({0, 99}); });
  EXPECT_EQ(refused.code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.what.find("there is no GPU 99"), std::string::npos) << refused.what;
}

TEST_F(CudaWorld, PeerAccessThatHangsIsToldInTime) {
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

TEST_F(CudaWorld, AMessageThatHangsIsToldInTimeAtBothEnds) {
  if (!Control::present()) GTEST_SKIP() << "needs planted faults";
  auto configuration = Control::environment();
  configuration.faults = "hang!:0-1";
  Control::reset(configuration);
  const ScopedOption timeout("timeout", "500ms");
  const ScopedOption p2p("cuda_p2p", "none");
  std::barrier both(2);
  World::cuda({0, 1}).run([&](Communicator& comm) {
    Floats data(100, 1.0F);
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

TEST_F(CudaWorld, AStreamOfAnotherDeviceIsRefusedAndTheCommunicatorWorksOn) {
  if (!Control::present()) GTEST_SKIP() << "needs two devices";
  World::cuda({0, 1}).run([&](Communicator& comm) {
    Floats data(100, 1.0F);
    const auto stream = cuda::Stream::on(1 - comm.rank());
    const auto refused = outcome_of([&] { all_reduce(comm, data, {.stream = stream.get()}); });
    EXPECT_EQ(refused.code, ErrorCode::invalid_argument) << refused.what;
    EXPECT_TRUE(refused.says("is one of device")) << refused.what;
    all_reduce(comm, data);
    EXPECT_EQ(data.get().front(), 2.0F);
  });
}

TEST_F(CudaWorld, AnotherRanksSpoiledCaptureEndsNobodysCommunicator) {
  std::array<cudaStream_t, 2> streams{};
  std::barrier meet(2);
  World::cuda({0, 0}).run([&](Communicator& comm) {
    const bool first = comm.rank() == 0;
    const auto stream = cuda::Stream::on(Floats::current());
    Floats data(100, 1.0F);
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

TEST_F(CudaWorld, CallsThatGrowKeepNoMoreScratchThanTwiceTheLast) {
  if (!Control::present()) GTEST_SKIP() << "needs a small device";
  auto configuration = Control::environment();
  constexpr std::size_t unit = std::size_t{1} << 12, calls = 60;
  configuration.memory = unit * (calls + 5 * calls);
  Control::reset(configuration);
  const ScopedOption graphs("cuda_graphs", "0");
  World::cuda({0, 1}).run([&](Communicator& comm) {
    Floats data(unit / sizeof(float) * calls, 1.0F);
    for (std::size_t n = 1; n <= calls; ++n)
      comm.all_reduce(data.data(), data.data(), unit / sizeof(float) * n, ElementType::float32,
                      ReduceOp::max, {.algorithm = "recursive_doubling"});
  });
}

TEST_F(CudaWorld, ACallThatFindsNoMemoryIsRefusedAndTheCommunicatorWorksOn) {
  if (!Control::present()) GTEST_SKIP() << "needs a small device";
  auto configuration = Control::environment();
  configuration.memory = std::size_t{1} << 20;
  Control::reset(configuration);
  const ScopedOption graphs("cuda_graphs", "0");
  World::cuda({0, 1}).run([&](Communicator& comm) {
    Floats data(200'000, 1.0F);
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

TEST_F(CudaWorld, PeerAccessThatLosesDataIsNotUsed) {
  if (!Control::present()) GTEST_SKIP() << "needs planted faults";
  for (const char* fault : {"lost:0-1", "offset:0-1", "corrupt:1-0"}) {
    auto configuration = Control::environment();
    configuration.faults = fault;
    Control::reset(configuration);
    World::cuda({0, 1}).run([&](Communicator& comm) {
      Floats data(1000, 1.0F);
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
