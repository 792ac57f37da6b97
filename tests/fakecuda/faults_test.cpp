// SPDX-License-Identifier: MIT
/// Calls and operations that fail, and hardware that does not work.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "ringside/tests/fakecuda/control.hpp"
#include "ringside/tests/fakecuda/ring.hpp"
#include "ringside/tests/fakecuda/test_kernels.hpp"

namespace ringside::tests::fakecuda {
namespace {

constexpr std::size_t count = 256;
constexpr std::size_t bytes = count * sizeof(std::int32_t);

class Faults : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Control::present());
    Control::reset();
  }
};

TEST_F(Faults, EachCallOfTheRingThatFailsIsSeen) {
  for (const bool graph : {false, true}) {
    RingRun run;
    run.graph = graph;
    Control::reset();
    ASSERT_EQ(run_ring(run).error, cudaSuccess);
    const auto calls = Control::calls();
    int leaking = 0;
    for (std::uint64_t n = 1; n <= calls; ++n) {
      Control::reset();
      Control::fail_call(n, cudaErrorUnknown);
      const RingResult result = run_ring(run);
      const auto leaks = Control::leaks();
      // The calls of the end are not looked at by the ring: what such a call was to release stays.
      const bool at_end = result.error == cudaSuccess;
      EXPECT_TRUE(at_end ? leaks.size() <= 1 : result.error == cudaErrorUnknown && leaks.empty())
          << "call " << n << " of " << calls << ": " << result.error << ", " << leaks.size();
      leaking += leaks.empty() ? 0 : 1;
      EXPECT_TRUE(Control::take_reports().empty()) << "call " << n;
    }
    // Three events, two streams, two allocations a rank; a graph in its two forms.
    EXPECT_EQ(leaking, 4 * 7 + (graph ? 2 : 0));
  }
}

TEST_F(Faults, EachOperationThatFailsIsSeenAndNothingHangs) {
  for (const bool graph : {false, true}) {
    RingRun run;
    run.graph = graph;
    Control::reset();
    ASSERT_EQ(run_ring(run).error, cudaSuccess);
    const auto operations = Control::operations();
    ASSERT_GT(operations, 50u);
    for (std::uint64_t n = 1; n <= operations; ++n) {
      Control::reset();
      Control::fault_operation(n, cudaErrorIllegalAddress);
      const RingResult result = run_ring(run);
      EXPECT_EQ(result.error, cudaErrorIllegalAddress) << "operation " << n << " of " << operations;
      EXPECT_TRUE(Control::leaks().empty());
      EXPECT_TRUE(Control::take_reports().empty());
    }
  }
}

TEST_F(Faults, AFailedCallDoesNothing) {
  void* address = this;
  Control::fail_call(Control::calls() + 1, cudaErrorMemoryAllocation);
  EXPECT_EQ(Control::failed_call(), "");
  EXPECT_EQ(cudaMalloc(&address, 4), cudaErrorMemoryAllocation);
  EXPECT_EQ(Control::failed_call(), "cudaMalloc");
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_TRUE(Control::leaks().empty());
  EXPECT_EQ(cudaMalloc(&address, 4), cudaSuccess);
}

/// Two devices with memory, and a copy or a store from 0 to 1.
class Hardware : public testing::Test {
 protected:
  void plant(const std::string& faults, bool peer_access = true,
             const std::string& scheduler = "pct:1") {
    ASSERT_TRUE(Control::present());
    Configuration configuration;
    configuration.devices = 2;
    configuration.faults = faults;
    configuration.scheduler = scheduler;
    Control::reset(configuration);
    for (int device = 0; device < 2; ++device) {
      ASSERT_EQ(cudaSetDevice(device), cudaSuccess);
      if (peer_access) {
        ASSERT_EQ(cudaDeviceEnablePeerAccess(1 - device, 0), cudaSuccess);
      }
      ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_[device]), 2 * bytes), cudaSuccess);
      ASSERT_EQ(launch_fill({data_[device], device, 2 * count, 2 * count}, nullptr), cudaSuccess);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    }
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  [[nodiscard]] cudaError_t copy(int from = 0) const {
    return cudaMemcpyPeerAsync(data_[1 - from], 1 - from, data_[from], from, bytes, stream_);
  }
  std::vector<std::int32_t> received(int device = 1) {
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    std::vector<std::int32_t> values(2 * count);
    EXPECT_EQ(cudaMemcpy(values.data(), data_[device], 2 * bytes, cudaMemcpyDeviceToHost),
              cudaSuccess);
    EXPECT_TRUE(Control::take_reports().empty());
    return values;
  }
  /// What should have arrived.
  static std::vector<std::int32_t> intact() {
    std::vector<std::int32_t> values(2 * count, 1);
    std::fill_n(values.begin(), count, 0);
    return values;
  }

  std::int32_t* data_[2] = {};
  cudaStream_t stream_ = nullptr;
};

TEST_F(Hardware, StoresAreLostBetweenTheTwoOnly) {
  plant("lost:0-1");
  EXPECT_EQ(copy(), cudaSuccess);
  EXPECT_EQ(received(), std::vector<std::int32_t>(2 * count, 1));
  EXPECT_EQ(launch_fill({data_[1], 7, count, count}, stream_), cudaSuccess);
  EXPECT_EQ(received(), std::vector<std::int32_t>(2 * count, 1));
  EXPECT_EQ(copy(1), cudaSuccess);  // the other way is well
  EXPECT_EQ(received(0)[0], 1);
}

TEST_F(Hardware, StoresLandTooFar) {
  plant("offset:0-1");
  EXPECT_EQ(copy(), cudaSuccess);
  const auto values = received();
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[63], 1);
  EXPECT_EQ(values[64], 0);
  EXPECT_EQ(values[64 + count - 1], 0);
  EXPECT_EQ(values[64 + count], 1);
}

TEST_F(Hardware, OneBitFlips) {
  plant("corrupt:0-1");
  EXPECT_EQ(copy(), cudaSuccess);
  const auto values = received();
  const auto expected = intact();
  int wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) wrong += values[i] != expected[i] ? 1 : 0;
  EXPECT_EQ(wrong, 1);
}

TEST_F(Hardware, StagedCopiesAreWellUnlessSaidOtherwise) {
  plant("lost:0-1", false);
  EXPECT_EQ(copy(), cudaSuccess);
  EXPECT_EQ(received(), intact());
  plant("lost!:0-1", false);
  EXPECT_EQ(copy(), cudaSuccess);
  EXPECT_EQ(received(), std::vector<std::int32_t>(2 * count, 1));
}

TEST_F(Hardware, AnOperationThatHangsHoldsItsStreamAndNoOther) {
  plant("hang:0-1");
  EXPECT_EQ(copy(), cudaSuccess);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(cudaStreamQuery(stream_), cudaErrorNotReady);
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(data_[0] + count, 0, bytes, other), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
  auto waiting = std::async(std::launch::async, [this] { return cudaStreamSynchronize(stream_); });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  Control::release_hangs();
  EXPECT_EQ(waiting.get(), cudaSuccess);
}

TEST_F(Hardware, SlowIsSlowInVirtualTimeOnly) {
  float times[2] = {};
  for (int slow = 0; slow < 2; ++slow) {
    plant(slow == 1 ? "slow:0-1:8" : "");
    cudaEvent_t start = nullptr, end = nullptr;
    ASSERT_EQ(cudaEventCreate(&start), cudaSuccess);
    ASSERT_EQ(cudaEventCreate(&end), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(start, stream_), cudaSuccess);
    EXPECT_EQ(copy(), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(end, stream_), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
    EXPECT_EQ(cudaEventElapsedTime(&times[slow], start, end), cudaSuccess);
    EXPECT_EQ(received(), intact());
  }
  EXPECT_NEAR(times[1] / times[0], 8, 0.01);
}

TEST_F(Hardware, TheTimeOfARunIsAlwaysTheSame) {
  std::vector<float> times;
  for (const char* scheduler : {"eager", "lazy", "random:5", "pct:9"}) {
    plant("", true, scheduler);
    cudaEvent_t start = nullptr, end = nullptr;
    ASSERT_EQ(cudaEventCreate(&start), cudaSuccess);
    ASSERT_EQ(cudaEventCreate(&end), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(start, stream_), cudaSuccess);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(copy(), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(end, stream_), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
    times.push_back(0);
    EXPECT_EQ(cudaEventElapsedTime(&times.back(), start, end), cudaSuccess);
  }
  EXPECT_GT(times[0], 0);
  EXPECT_EQ(times, std::vector<float>(4, times[0]));
}

TEST(Access, SaysWhoReachesWhom) {
  ASSERT_TRUE(Control::present());
  Configuration configuration;
  configuration.devices = 3;
  configuration.access = "010/000/110";
  Control::reset(configuration);
  const int expected[3][3] = {{0, 1, 0}, {0, 0, 0}, {1, 1, 0}};
  for (int from = 0; from < 3; ++from)
    for (int to = 0; to < 3; ++to) {
      int can = -1;
      EXPECT_EQ(cudaDeviceCanAccessPeer(&can, from, to), cudaSuccess);
      EXPECT_EQ(can, expected[from][to]) << from << " " << to;
    }
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(2, 0), cudaErrorPeerAccessUnsupported);
  configuration.access = "01/10";
  EXPECT_THROW(Control::reset(configuration), std::invalid_argument);
  configuration.access = "all";
  configuration.scheduler = "sometimes";
  EXPECT_THROW(Control::reset(configuration), std::invalid_argument);
  configuration.scheduler = "eager";
  configuration.faults = "broken:0-1";
  EXPECT_THROW(Control::reset(configuration), std::invalid_argument);
}

}  // namespace
}  // namespace ringside::tests::fakecuda
