// SPDX-License-Identifier: MIT
/// Graphs made node by node, as the double runs and checks them, and what graphs keep alive.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ringside/tests/fakecuda/control.hpp"
#include "ringside/tests/fakecuda/test_kernels.hpp"

namespace ringside::tests::fakecuda {
namespace {

constexpr std::size_t count = 100;
constexpr std::size_t bytes = count * sizeof(std::int32_t);

class Graphs : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Control::present());
    Control::reset();
    ASSERT_EQ(cudaGraphCreate(&graph_, 0), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_), bytes), cudaSuccess);
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&other_), bytes), cudaSuccess);
  }
  /// Launches the graph so often and waits for it.
  void run(int times = 1) {
    cudaGraphExec_t made = nullptr;
    ASSERT_EQ(cudaGraphInstantiate(&made, graph_, 0), cudaSuccess);
    for (int i = 0; i < times; ++i) EXPECT_EQ(cudaGraphLaunch(made, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(cudaGraphExecDestroy(made), cudaSuccess);
  }
  cudaGraphNode_t fill(std::int32_t* data, int value, const std::vector<cudaGraphNode_t>& after) {
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(add_fill_node(&node, graph_, after, {data, value, count, count}), cudaSuccess);
    return node;
  }
  cudaGraphNode_t copy(std::int32_t* to, std::int32_t* from,
                       const std::vector<cudaGraphNode_t>& after) {
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddMemcpyNode1D(&node, graph_, after.data(), after.size(), to, from, bytes,
                                       cudaMemcpyDefault),
              cudaSuccess);
    return node;
  }

  cudaGraph_t graph_ = nullptr;
  cudaStream_t stream_ = nullptr;
  std::int32_t *data_ = nullptr, *other_ = nullptr;
};

TEST_F(Graphs, NodesRunInTheOrderOfTheirEdges) {
  for (const char* scheduler : {"eager", "lazy", "random:7", "pct:7"}) {
    Configuration configuration = Control::environment();
    configuration.scheduler = scheduler;
    Control::reset(configuration);
    SetUp();
    cudaGraphNode_t filled = fill(data_, 1, {});
    cudaGraphNode_t join = nullptr, added = nullptr;
    const std::vector<cudaGraphNode_t> both = {filled, fill(other_, 5, {})};
    ASSERT_EQ(cudaGraphAddEmptyNode(&join, graph_, both.data(), 2), cudaSuccess);
    ASSERT_EQ(add_add_node(&added, graph_, {join}, {data_, data_, other_, count}), cudaSuccess);
    copy(other_, data_, {added});
    run(2);
    std::vector<std::int32_t> values(count);
    EXPECT_EQ(cudaMemcpy(values.data(), other_, bytes, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(values, std::vector<std::int32_t>(count, 6));
    EXPECT_TRUE(Control::take_reports().empty());
  }
}

TEST_F(Graphs, AnEdgeThatIsMissingIsReportedInEveryRun) {
  for (int seed = 1; seed <= 20; ++seed) {
    Configuration configuration = Control::environment();
    configuration.scheduler = "pct:" + std::to_string(seed);
    Control::reset(configuration);
    SetUp();
    cudaGraphNode_t first = fill(data_, 1, {});
    fill(other_, 2, {first});
    copy(other_, data_, {first});  // beside the fill
    run();
    EXPECT_EQ(Control::take_reports().size(), 1u) << "seed " << seed;
  }
}

TEST_F(Graphs, ANodeIsTheCurrentDevicesWhenItIsAdded) {
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  fill(data_, 1, {});  // device 1 has no access to memory of device 0
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  cudaGraphExec_t made = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&made, graph_, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(made, stream_), cudaSuccess);
  const auto reports = Control::take_reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports.front().kind, ReportKind::illegal_access);
  EXPECT_EQ(reports.front().later.device, 1);
}

TEST_F(Graphs, WhatCannotBeANodeIsRefused) {
  cudaGraphNode_t node = fill(data_, 1, {});
  cudaGraph_t second = nullptr;
  ASSERT_EQ(cudaGraphCreate(&second, 0), cudaSuccess);
  cudaGraphNode_t made = nullptr;
  const std::vector<cudaGraphNode_t> twice = {node, node};
  EXPECT_EQ(cudaGraphCreate(nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphCreate(&second, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddEmptyNode(&made, graph_, twice.data(), 2), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddEmptyNode(&made, second, &node, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddEmptyNode(&made, nullptr, nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddEmptyNode(nullptr, graph_, nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddEmptyNode(&made, graph_, nullptr, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddKernelNode(&made, graph_, nullptr, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(add_fill_node(&made, graph_, {}, {data_, 1, count, count}, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddMemcpyNode1D(&made, graph_, nullptr, 0, other_, data_, bytes + 1,
                                     cudaMemcpyDefault),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphDestroy(second), cudaSuccess);
  run();
  for (const auto& report : Control::take_reports())
    EXPECT_EQ(report.kind, ReportKind::misuse) << report.text;
}

void count_up(void* counter) { ++*static_cast<int*>(counter); }

TEST_F(Graphs, WhatAGraphKeepsAliveGoesWithItsLastOwner) {
  int gone = 0;
  cudaUserObject_t object = nullptr;
  ASSERT_EQ(cudaUserObjectCreate(&object, &gone, count_up, 1, cudaUserObjectNoDestructorSync),
            cudaSuccess);
  EXPECT_EQ(Control::leaks().back(), "user object");
  ASSERT_EQ(cudaGraphRetainUserObject(graph_, object, 1, cudaGraphUserObjectMove), cudaSuccess);
  fill(data_, 1, {});
  cudaGraphExec_t made = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&made, graph_, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
  EXPECT_EQ(gone, 0) << "the executable graph has it, too";
  EXPECT_EQ(cudaGraphLaunch(made, stream_), cudaSuccess);
  EXPECT_EQ(cudaGraphExecDestroy(made), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(gone, 1);
  EXPECT_EQ(cudaGraphRetainUserObject(graph_, object, 1, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaUserObjectRelease(object, 1), cudaErrorInvalidValue);
  EXPECT_EQ(Control::take_reports().size(), 1u);
}

TEST_F(Graphs, ALaunchUnderWayKeepsAliveWhatItsDestroyedGraphDid) {
  Configuration configuration = Control::environment();
  configuration.scheduler = "lazy";  // nothing runs unless somebody waits
  Control::reset(configuration);
  SetUp();
  int gone = 0;
  cudaUserObject_t object = nullptr;
  ASSERT_EQ(cudaUserObjectCreate(&object, &gone, count_up, 1, cudaUserObjectNoDestructorSync),
            cudaSuccess);
  ASSERT_EQ(cudaGraphRetainUserObject(graph_, object, 1, cudaGraphUserObjectMove), cudaSuccess);
  fill(data_, 1, {});
  cudaGraphExec_t made = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&made, graph_, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(made, stream_), cudaSuccess);
  EXPECT_EQ(cudaGraphExecDestroy(made), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
  EXPECT_EQ(gone, 0);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  int device = 0;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(gone, 1);
}

TEST_F(Graphs, ACapturesGraphKeepsAliveFromTheCaptureOnAndLosesItWithAnAbandonedOne) {
  for (const bool abandoned : {false, true}) {
    int gone = 0;
    cudaUserObject_t object = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), cudaSuccess);
    auto status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    cudaGraph_t captured = nullptr;
#if CUDART_VERSION >= 13000
    ASSERT_EQ(cudaStreamGetCaptureInfo(stream_, &status, &id, &captured, nullptr, nullptr, nullptr),
              cudaSuccess);
#else
    ASSERT_EQ(cudaStreamGetCaptureInfo(stream_, &status, &id, &captured, nullptr, nullptr),
              cudaSuccess);
#endif
    ASSERT_EQ(cudaUserObjectCreate(&object, &gone, count_up, 1, cudaUserObjectNoDestructorSync),
              cudaSuccess);
    ASSERT_EQ(cudaGraphRetainUserObject(captured, object, 1, cudaGraphUserObjectMove), cudaSuccess);
    if (abandoned) {
      EXPECT_EQ(cudaStreamQuery(stream_), cudaErrorStreamCaptureUnsupported);
    }
    cudaGraph_t ended = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream_, &ended),
              abandoned ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
    EXPECT_EQ(gone, abandoned ? 1 : 0);
    if (abandoned) continue;
    EXPECT_EQ(ended, captured);
    EXPECT_EQ(cudaGraphDestroy(ended), cudaSuccess);
    EXPECT_EQ(gone, 1);
  }
}

}  // namespace
}  // namespace ringside::tests::fakecuda
