// SPDX-License-Identifier: MIT
/// Capturing and replaying graphs.
#include "ringside/tests/cuda_contract/contract.hpp"

namespace ringside::tests {
namespace {

constexpr std::size_t count = 1000;

class GraphContract : public Contract {
 protected:
  /// Instantiates, destroys the graph, and keeps the executable one.
  cudaGraphExec_t executable(cudaGraph_t graph) {
    cudaGraphExec_t made = nullptr;
    EXPECT_EQ(cudaGraphInstantiate(&made, graph, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    return made;
  }
  static std::size_t nodes_of(cudaGraph_t graph) {
    std::size_t nodes = 0;
    EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
    return nodes;
  }
  static cudaStreamCaptureStatus status_of(cudaStream_t s) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    EXPECT_EQ(cudaStreamIsCapturing(s, &status), cudaSuccess);
    return status;
  }
};

TEST_F(GraphContract, WhatIsCapturedRunsWhenTheGraphIsLaunched) {
  std::int32_t* data = device_memory(count);
  cudaStream_t s = stream();
  fill(data, 1, count, s);
  ASSERT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(status_of(s), cudaStreamCaptureStatusNone);
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_EQ(status_of(s), cudaStreamCaptureStatusActive);
  EXPECT_EQ(fakecuda::launch_add({data, data, data, count}, s), cudaSuccess);
  EXPECT_EQ(fakecuda::launch_add({data, data, data, count}, s), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(s, &graph), cudaSuccess);
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(status_of(s), cudaStreamCaptureStatusNone);
  EXPECT_EQ(nodes_of(graph), 2u);
  cudaGraphExec_t run = executable(graph);
  EXPECT_EQ(contents(data, count)[0], 1);
  EXPECT_EQ(cudaGraphUpload(run, s), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(run, s), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(run, s), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(contents(data, count), std::vector<std::int32_t>(count, 16));
  EXPECT_EQ(cudaGraphExecDestroy(run), cudaSuccess);
}

TEST_F(GraphContract, AWaitTakesAStreamIntoTheCaptureAndTheEndReleasesIt) {
  std::int32_t* data = device_memory(3 * count);
  cudaStream_t a = stream(), b = stream(cudaStreamDefault);
  cudaEvent_t fork = event(), join = event();
  ASSERT_EQ(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed), cudaSuccess);
  fill(data, 1, count, a);
  EXPECT_EQ(cudaEventRecord(fork, a), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(b, fork, 0), cudaSuccess);
  EXPECT_EQ(status_of(b), cudaStreamCaptureStatusActive);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id_a = 0, id_b = 1;
#if CUDART_VERSION >= 13000
  EXPECT_EQ(cudaStreamGetCaptureInfo(a, &status, &id_a, nullptr, nullptr, nullptr, nullptr),
            cudaSuccess);
  EXPECT_EQ(cudaStreamGetCaptureInfo(b, &status, &id_b, nullptr, nullptr, nullptr, nullptr),
            cudaSuccess);
#else
  EXPECT_EQ(cudaStreamGetCaptureInfo(a, &status, &id_a, nullptr, nullptr, nullptr), cudaSuccess);
  EXPECT_EQ(cudaStreamGetCaptureInfo(b, &status, &id_b, nullptr, nullptr, nullptr), cudaSuccess);
#endif
  EXPECT_EQ(id_a, id_b);
  EXPECT_EQ(fakecuda::launch_add({data + count, data, data, count}, b), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(join, b), cudaSuccess);
  fill(data + 2 * count, 7, count, a);
  EXPECT_EQ(cudaStreamWaitEvent(a, join, 0), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(data, 0, sizeof(std::int32_t), a), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(a, &graph), cudaSuccess);
  EXPECT_EQ(status_of(b), cudaStreamCaptureStatusNone);
  EXPECT_EQ(nodes_of(graph), 4u);  // records and waits are edges
  cudaGraphExec_t run = executable(graph);
  EXPECT_EQ(cudaGraphLaunch(run, b), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(b), cudaSuccess);
  const auto values = contents(data, 3 * count);
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[1], 1);
  EXPECT_EQ(values[count], 2);
  EXPECT_EQ(values[2 * count], 7);
  EXPECT_EQ(cudaGraphExecDestroy(run), cudaSuccess);
}

TEST_F(GraphContract, NothingCanBeCapturedAndLaunched) {
  cudaStream_t s = stream();
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(s, &graph), cudaSuccess);
  EXPECT_EQ(nodes_of(graph), 0u);
  cudaGraphExec_t run = executable(graph);
  EXPECT_EQ(cudaGraphLaunch(run, s), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(cudaGraphExecDestroy(run), cudaSuccess);
}

TEST_F(GraphContract, LaunchesOfOneGraphFollowEachOtherAlsoInDifferentStreams) {
  std::int32_t* data = device_memory(count);
  cudaStream_t a = stream(), b = stream();
  fill(data, 1, count, a);
  ASSERT_EQ(cudaStreamSynchronize(a), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  delay(a);
  EXPECT_EQ(fakecuda::launch_add({data, data, data, count}, a), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(a, &graph), cudaSuccess);
  cudaGraphExec_t run = executable(graph);
  EXPECT_EQ(cudaGraphLaunch(run, a), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(run, b), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(b), cudaSuccess);
  EXPECT_EQ(contents(data, count), std::vector<std::int32_t>(count, 4));
  EXPECT_EQ(cudaGraphExecDestroy(run), cudaSuccess);
}

TEST_F(GraphContract, ALaunchedGraphMayBeDestroyed) {
  std::int32_t* data = device_memory(count);
  cudaStream_t s = stream();
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  delay(s);
  fill(data, 3, count, s);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(s, &graph), cudaSuccess);
  cudaGraphExec_t run = executable(graph);
  EXPECT_EQ(cudaGraphLaunch(run, s), cudaSuccess);
  EXPECT_EQ(cudaGraphExecDestroy(run), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(contents(data, count), std::vector<std::int32_t>(count, 3));
}

TEST_F(GraphContract, CopiesAndHostFunctionsAreCapturedToo) {
  std::int32_t *data = device_memory(count), *other = device_memory(count);
  cudaStream_t s = stream();
  int calls = 0;
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  fill(data, 8, count, s);
  EXPECT_EQ(cudaMemcpyAsync(other, data, count * sizeof(std::int32_t), cudaMemcpyDeviceToDevice, s),
            cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(data, other, sizeof(std::int32_t), cudaMemcpyDefault, s), cudaSuccess);
  EXPECT_EQ(cudaLaunchHostFunc(
                s, [](void* counter) { ++*static_cast<int*>(counter); }, &calls),
            cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(s, &graph), cudaSuccess);
  EXPECT_EQ(nodes_of(graph), 4u);
  cudaGraphExec_t run = executable(graph);
  EXPECT_EQ(calls, 0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(cudaGraphLaunch(run, s), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(contents(other, count), std::vector<std::int32_t>(count, 8));
  EXPECT_EQ(cudaGraphExecDestroy(run), cudaSuccess);
}

TEST_F(GraphContract, AGraphIsNotLaunchedInACapture) {
  std::int32_t* data = device_memory(count);
  cudaStream_t s = stream();
  fill(data, 1, count, s);
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_EQ(fakecuda::launch_add({data, data, data, count}, s), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(s, &graph), cudaSuccess);
  cudaGraphExec_t run = executable(graph);
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(run, s), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaGraphLaunch(run, s), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(contents(data, count), std::vector<std::int32_t>(count, 2));
  EXPECT_EQ(cudaGraphExecDestroy(run), cudaSuccess);
  (void)cudaGetLastError();
}

}  // namespace
}  // namespace ringside::tests
