// SPDX-License-Identifier: MIT
/// Calls in captures of the caller's: what they use, and how long it lives.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <functional>
#include <vector>

#include "ringside/collectives/communicator.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/collectives/cuda/gpu_test.hpp"
#include "ringside/tests/fakecuda/control.hpp"

namespace ringside::tests {
namespace {

using cuda::check;
using fakecuda::Control;

constexpr int ranks = 3;
constexpr std::size_t count = 1000;

class Captures : public GpuTest {
 protected:
  void SetUp() override {
    if (!Control::present()) GTEST_SKIP() << "needs the test double";
    GpuTest::SetUp();
  }
};

std::uint64_t streams_made() {
  for (const auto& [name, calls] : Control::counters().by_name)
    if (name == "cudaStreamCreateWithFlags") return calls;
  return 0;
}

/// Ranks of one device whose streams are captured together.
class Captured {
 public:
  Captured() {
    for (int rank = 0; rank < ranks; ++rank) {
      streams_.push_back(cuda::Stream::on(0));
      ends_.push_back(cuda::Event::on(0));
      data_.push_back(cuda::DeviceMemory::on(0, count * sizeof(float)));
    }
  }

  /// One capture of so many calls on each of the ranks' data.
  cuda::Graph capture(Communicator& comm, int calls) {
    const auto rank = static_cast<std::size_t>(comm.rank());
    cudaStream_t stream = streams_[rank].get();
    meet_.arrive_and_wait();
    if (rank == 0) {
      check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "begin", 0);
      check(cudaEventRecord(ends_[0].get(), stream), "record", 0);
      for (const auto& other : streams_)
        if (other.get() != stream)
          check(cudaStreamWaitEvent(other.get(), ends_[0].get(), 0), "wait", 0);
    }
    meet_.arrive_and_wait();
    for (int i = 0; i < calls; ++i)
      comm.all_reduce(data_[rank].data(), data_[rank].data(), count, ElementType::float32,
                      ReduceOp::sum, {.algorithm = "ring:slices=2,lanes=2", .stream = stream});
    if (rank > 0) check(cudaEventRecord(ends_[rank].get(), stream), "record", 0);
    meet_.arrive_and_wait();
    cudaGraph_t graph = nullptr;
    if (rank == 0) {
      for (std::size_t other = 1; other < ranks; ++other)
        check(cudaStreamWaitEvent(stream, ends_[other].get(), 0), "wait", 0);
      check(cudaStreamEndCapture(stream, &graph), "end", 0);
    }
    meet_.arrive_and_wait();
    return {graph, 0};
  }

  void fill(float value) {
    const std::vector<float> values(count, value);
    for (const auto& data : data_)
      check(cudaMemcpy(data.data(), values.data(), count * sizeof(float), cudaMemcpyDefault),
            "cudaMemcpy", 0);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", 0);
  }
  [[nodiscard]] bool all_equal(float value) const {
    return std::all_of(data_.begin(), data_.end(), [&](const cuda::DeviceMemory& data) {
      std::vector<float> values(count);
      check(cudaMemcpy(values.data(), data.data(), count * sizeof(float), cudaMemcpyDefault),
            "cudaMemcpy", 0);
      return values == std::vector<float>(count, value);
    });
  }
  [[nodiscard]] cudaStream_t stream() const { return streams_[0].get(); }

 private:
  std::vector<cuda::Stream> streams_;
  std::vector<cuda::Event> ends_;
  std::vector<cuda::DeviceMemory> data_;
  std::barrier<> meet_{ranks};
};

cuda::GraphExec executable(const cuda::Graph& graph) {
  cudaGraphExec_t made = nullptr;
  check(cudaGraphInstantiate(&made, graph.get(), 0), "instantiate", 0);
  return {made, 0};
}

const std::vector<int> one_device(ranks, 0);

TEST_F(Captures, CallsOfOneCaptureShareStreamsAndAreInOrder) {
  Captured captured;
  captured.fill(1.0F);
  std::array<std::uint64_t, 2> made{};
  cuda::GraphExec run;
  World::cuda(one_device).run([&](Communicator& comm) {
    for (const int calls : {1, 4}) {
      const std::uint64_t before = streams_made();
      const cuda::Graph graph = captured.capture(comm, calls);
      if (comm.rank() > 0) continue;
      made[calls == 1 ? 0 : 1] = streams_made() - before;
      run = executable(graph);
    }
  });
  EXPECT_GT(made[0], 0u);
  EXPECT_EQ(made[1], 0u) << "those of the capture before, which is over";
  check(cudaGraphLaunch(run.get(), captured.stream()), "launch", 0);
  check(cudaStreamSynchronize(captured.stream()), "synchronize", 0);
  EXPECT_TRUE(captured.all_equal(81.0F));
  run = cuda::GraphExec();
  World::cuda({0}).run([](Communicator&) {});  // frees what the graph had
}

TEST_F(Captures, AGraphOutlivesTheCommunicatorAndItsScratchLivesAsLongAsTheGraph) {
  auto configuration = Control::environment();
  configuration.scheduler = "lazy";  // nothing runs unless somebody waits
  Control::reset(configuration);
  Captured captured;
  captured.fill(1.0F);
  std::array<cuda::GraphExec, 2> graphs;
  World::cuda(one_device).run([&](Communicator& comm) {
    for (auto& each : graphs) {
      const cuda::Graph graph = captured.capture(comm, 2);
      if (comm.rank() == 0) each = executable(graph);
    }
  });
  check(cudaGraphLaunch(graphs[0].get(), captured.stream()), "launch", 0);
  check(cudaGraphLaunch(graphs[1].get(), captured.stream()), "launch", 0);
  for (auto& each : graphs) each = cuda::GraphExec();  // under way
  World::cuda({0}).run([](Communicator&) {});          // would free what nobody has any more
  check(cudaStreamSynchronize(captured.stream()), "synchronize", 0);
  EXPECT_TRUE(captured.all_equal(81.0F));
  World::cuda({0}).run([](Communicator&) {});
}

TEST_F(Captures, ACapturedCallRunsBesideOthersOfTheSameCommunicator) {
  Captured captured;
  captured.fill(0.0F);
  World::cuda(one_device).run([&](Communicator& comm) {
    const cuda::Graph graph = captured.capture(comm, 1);
    cuda::GraphExec run;
    if (comm.rank() == 0) {
      run = executable(graph);
      check(cudaGraphLaunch(run.get(), captured.stream()), "launch", 0);
    }
    const auto stream = cuda::Stream::on(0);
    const auto other = cuda::DeviceMemory::on(0, count * sizeof(float));
    check(cudaMemsetAsync(other.data(), 0, count * sizeof(float), stream.get()), "set", 0);
    for (int i = 0; i < 4; ++i)
      comm.all_reduce(other.data(), other.data(), count, ElementType::float32, ReduceOp::sum,
                      {.algorithm = "ring:slices=2,lanes=2", .stream = stream.get()});
    check(cudaStreamSynchronize(stream.get()), "synchronize", 0);
    if (comm.rank() == 0) check(cudaStreamSynchronize(captured.stream()), "synchronize", 0);
  });
}

}  // namespace
}  // namespace ringside::tests
