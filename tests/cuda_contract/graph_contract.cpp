// SPDX-License-Identifier: MIT
/// Graphs made node by node, and what graphs keep alive.
#include <atomic>
#include <chrono>
#include <thread>

#include "ringside/tests/cuda_contract/contract.hpp"

namespace ringside::tests {
namespace {

constexpr std::size_t count = 1000;
constexpr std::size_t bytes = count * sizeof(std::int32_t);

class NodeContract : public Contract {
 protected:
  void SetUp() override {
    Contract::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(cudaGraphCreate(&graph_, 0), cudaSuccess);
  }
  void TearDown() override {
    if (graph_ != nullptr) {
      EXPECT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
    }
    Contract::TearDown();
  }
  cudaGraphNode_t filled(std::int32_t* data, int value,
                         const std::vector<cudaGraphNode_t>& after = {}) {
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(fakecuda::add_fill_node(&node, graph_, after, {data, value, count, count}),
              cudaSuccess);
    return node;
  }

  cudaGraph_t graph_ = nullptr;
};

TEST_F(NodeContract, NodesOfAllKindsRunInTheOrderOfTheirEdges) {
  std::int32_t *data = device_memory(count), *other = device_memory(count);
  cudaStream_t s = stream();
  const std::vector<cudaGraphNode_t> both = {filled(data, 1), filled(other, 5)};
  cudaGraphNode_t join = nullptr, added = nullptr, copied = nullptr;
  ASSERT_EQ(cudaGraphAddEmptyNode(&join, graph_, both.data(), both.size()), cudaSuccess);
  ASSERT_EQ(fakecuda::add_add_node(&added, graph_, {join}, {data, data, other, count}),
            cudaSuccess);
  ASSERT_EQ(
      cudaGraphAddMemcpyNode1D(&copied, graph_, &added, 1, other, data, bytes, cudaMemcpyDefault),
      cudaSuccess);
  std::size_t nodes = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph_, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 5u);
  cudaGraphExec_t run = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&run, graph_, 0), cudaSuccess);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(cudaGraphLaunch(run, s), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(contents(other, count), std::vector<std::int32_t>(count, 6));
  EXPECT_EQ(cudaGraphExecDestroy(run), cudaSuccess);
}

TEST_F(NodeContract, TheParametersOfAKernelAreTakenWhenItsNodeIsAdded) {
  std::int32_t* data = device_memory(count);
  cudaStream_t s = stream();
  {
    const fakecuda::FillParameter parameter{data, 3, count, count};
    cudaGraphNode_t node = nullptr;
    ASSERT_EQ(fakecuda::add_fill_node(&node, graph_, {}, parameter), cudaSuccess);
  }
  cudaGraphExec_t run = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&run, graph_, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(run, s), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(contents(data, count), std::vector<std::int32_t>(count, 3));
  EXPECT_EQ(cudaGraphExecDestroy(run), cudaSuccess);
}

TEST_F(NodeContract, OtherThreadsMayWaitForTheDeviceWhileAGraphIsMade) {
  std::int32_t* data = device_memory(count);
  cudaStream_t s = stream();
  std::atomic<int> refused{0};
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) refused += cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
  });
  cudaGraphNode_t last = filled(data, 1);
  for (int i = 0; i < 100; ++i) last = filled(data, i, {last});
  cudaGraphExec_t run = nullptr;
  EXPECT_EQ(cudaGraphInstantiate(&run, graph_, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(run, s), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  over = true;
  other.join();
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(contents(data, count), std::vector<std::int32_t>(count, 99));
  EXPECT_EQ(cudaGraphExecDestroy(run), cudaSuccess);
}

TEST_F(NodeContract, ANodeThatIsNoNodeIsRefused) {
  std::int32_t* data = device_memory(count);
  cudaGraphNode_t node = filled(data, 1);
  cudaGraphNode_t made = nullptr;
  const std::vector<cudaGraphNode_t> twice = {node, node};
  EXPECT_EQ(cudaGraphAddEmptyNode(&made, graph_, twice.data(), 2), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddEmptyNode(&made, nullptr, nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddEmptyNode(nullptr, graph_, nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphCreate(nullptr, 0), cudaErrorInvalidValue);
  cudaGraph_t second = nullptr;
  ASSERT_EQ(cudaGraphCreate(&second, 0), cudaSuccess);
  observe("an empty node behind a node of another graph",
          cudaGraphAddEmptyNode(&made, second, &node, 1));
  observe("a kernel node with no blocks",
          fakecuda::add_fill_node(&made, second, {}, {data, 1, count, count}, 0));
  observe("a copy node of no bytes",
          cudaGraphAddMemcpyNode1D(&made, second, nullptr, 0, data, data, 0, cudaMemcpyDefault));
  EXPECT_EQ(cudaGraphDestroy(second), cudaSuccess);
  (void)cudaGetLastError();
}

void set_flag(void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); }

/// Destructors are called by a thread of the runtime's, soon.
bool soon(const std::atomic<bool>& flag) {
  for (int i = 0; i < 5000 && !flag; ++i) {
    int device = 0;
    (void)cudaGetDevice(&device);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return flag;
}

TEST_F(NodeContract, ACapturedGraphAndWhatIsMadeOfItKeepUserObjectsAlive) {
  static std::atomic<bool> gone;
  gone = false;
  std::int32_t* data = device_memory(count);
  cudaStream_t s = stream();
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed), cudaSuccess);
  auto status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  cudaGraph_t captured = nullptr, ended = nullptr;
#if CUDART_VERSION >= 13000
  EXPECT_EQ(cudaStreamGetCaptureInfo(s, &status, &id, &captured, nullptr, nullptr, nullptr),
            cudaSuccess);
#else
  EXPECT_EQ(cudaStreamGetCaptureInfo(s, &status, &id, &captured, nullptr, nullptr), cudaSuccess);
#endif
  ASSERT_NE(captured, nullptr);
  cudaUserObject_t object = nullptr;
  EXPECT_EQ(cudaUserObjectCreate(&object, &gone, set_flag, 1, cudaUserObjectNoDestructorSync),
            cudaSuccess);
  EXPECT_EQ(cudaGraphRetainUserObject(captured, object, 1, cudaGraphUserObjectMove), cudaSuccess);
  fill(data, 4, count, s);
  ASSERT_EQ(cudaStreamEndCapture(s, &ended), cudaSuccess);
  cudaGraphExec_t run = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&run, ended, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(ended), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(run, s), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_FALSE(gone);
  EXPECT_EQ(cudaGraphExecDestroy(run), cudaSuccess);
  EXPECT_TRUE(soon(gone));
  EXPECT_EQ(contents(data, count), std::vector<std::int32_t>(count, 4));
}

TEST_F(NodeContract, AUserObjectGoesWithACaptureThatIsSpoiled) {
  static std::atomic<bool> gone;
  gone = false;
  cudaStream_t s = stream();
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed), cudaSuccess);
  auto status = cudaStreamCaptureStatusNone;
  cudaGraph_t captured = nullptr, ended = nullptr;
#if CUDART_VERSION >= 13000
  EXPECT_EQ(cudaStreamGetCaptureInfo(s, &status, nullptr, &captured, nullptr, nullptr, nullptr),
            cudaSuccess);
#else
  EXPECT_EQ(cudaStreamGetCaptureInfo(s, &status, nullptr, &captured, nullptr, nullptr),
            cudaSuccess);
#endif
  cudaUserObject_t object = nullptr;
  EXPECT_EQ(cudaUserObjectCreate(&object, &gone, set_flag, 1, cudaUserObjectNoDestructorSync),
            cudaSuccess);
  EXPECT_EQ(cudaGraphRetainUserObject(captured, object, 1, cudaGraphUserObjectMove), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(s), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(s, &ended), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(ended, nullptr);
  EXPECT_TRUE(soon(gone));
  (void)cudaGetLastError();
}

}  // namespace
}  // namespace ringside::tests
