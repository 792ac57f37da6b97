// SPDX-License-Identifier: MIT
/// Host threads share the runtime, and order among streams is what the runtime promises.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "ringside/tests/fakecuda/control.hpp"
#include "ringside/tests/fakecuda/test_kernels.hpp"

namespace ringside::tests::fakecuda {
namespace {

constexpr std::size_t count = 64;

class Threads : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Control::present());
    Control::reset();
  }
  static std::int32_t* memory() {
    void* address = nullptr;
    EXPECT_EQ(cudaMalloc(&address, count * sizeof(std::int32_t)), cudaSuccess);
    return static_cast<std::int32_t*>(address);
  }
  static cudaStream_t stream(unsigned flags = cudaStreamNonBlocking) {
    cudaStream_t made = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&made, flags), cudaSuccess);
    return made;
  }
  static void fill(std::int32_t* data, cudaStream_t s) {
    EXPECT_EQ(launch_fill({data, 1, count, count}, s), cudaSuccess);
  }
  static std::size_t reports() { return Control::take_reports().size(); }
};

TEST_F(Threads, EachHasItsDeviceAndItsError) {
  EXPECT_EQ(cudaSetDevice(2), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(99), cudaErrorInvalidDevice);
  std::thread([] {
    int device = -1;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    EXPECT_EQ(device, 0);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }).join();
  int device = -1;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 2);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}

TEST_F(Threads, ManyUseTheRuntimeAtOnce) {
  constexpr int threads = 4, rounds = 200;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([t] {
      EXPECT_EQ(cudaSetDevice(t), cudaSuccess);
      std::int32_t* data = memory();
      cudaStream_t a = stream(), b = stream();
      cudaEvent_t e = nullptr;
      EXPECT_EQ(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), cudaSuccess);
      for (int i = 0; i < rounds; ++i) {
        EXPECT_EQ(launch_fill({data, i, count, count}, a), cudaSuccess);
        EXPECT_EQ(cudaEventRecord(e, a), cudaSuccess);
        EXPECT_EQ(cudaStreamWaitEvent(b, e, 0), cudaSuccess);
        EXPECT_EQ(launch_add({data, data, data, count}, b), cudaSuccess);
        std::vector<std::int32_t> values(count);
        EXPECT_EQ(cudaMemcpyAsync(values.data(), data, count * sizeof(std::int32_t),
                                  cudaMemcpyDeviceToHost, b),
                  cudaSuccess);
        EXPECT_EQ(values, std::vector<std::int32_t>(count, 2 * i));
      }
      EXPECT_EQ(cudaEventDestroy(e), cudaSuccess);
      EXPECT_EQ(cudaStreamDestroy(a), cudaSuccess);
      EXPECT_EQ(cudaStreamDestroy(b), cudaSuccess);
      EXPECT_EQ(cudaFree(data), cudaSuccess);
    });
  for (std::thread& each : all) each.join();
  EXPECT_EQ(reports(), 0u);
  EXPECT_TRUE(Control::leaks().empty());
}

TEST_F(Threads, WhoeverWaitsRunsWhatOthersIssueMeanwhile) {
  // The waiter's stream waits for an operation whose stream waits for a host function of a third.
  cudaStream_t a = stream(), b = stream();
  cudaEvent_t e = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), cudaSuccess);
  std::atomic<bool> open{false};
  std::atomic<int> order{0};
  struct Gate {
    std::atomic<bool>* open;
    std::atomic<int>* order;
  } gate{&open, &order};
  ASSERT_EQ(cudaLaunchHostFunc(
                a,
                [](void* data) {
                  const auto* g = static_cast<Gate*>(data);
                  while (!*g->open) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                  *g->order = 1;
                },
                &gate),
            cudaSuccess);
  ASSERT_EQ(cudaEventRecord(e, a), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(b, e, 0), cudaSuccess);
  std::thread waiter([&] {
    EXPECT_EQ(cudaStreamSynchronize(b), cudaSuccess);
    EXPECT_EQ(order, 1);
  });
  // A host function holds its stream only: the runtime stays usable.
  std::int32_t* data = memory();
  cudaStream_t c = stream();
  fill(data, c);
  if (reports() > 0) ADD_FAILURE();
  open = true;
  waiter.join();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(Threads, WhatOneHasWaitedForAllAreTakenToKnow) {
  std::int32_t* data = memory();
  cudaStream_t a = stream(), b = stream();
  fill(data, a);
  std::thread([&] { EXPECT_EQ(cudaStreamSynchronize(a), cudaSuccess); }).join();
  fill(data, b);
  EXPECT_EQ(reports(), 0u);
}

TEST_F(Threads, AQueryOrdersOnlyWhenItSaysSo) {
  Configuration configuration;
  configuration.scheduler = "lazy";
  Control::reset(configuration);
  std::int32_t* data = memory();
  cudaStream_t a = stream(), b = stream();
  for (int i = 0; i < 3; ++i) fill(data, a);
  EXPECT_EQ(cudaStreamQuery(a), cudaErrorNotReady);
  fill(data + 0, b);
  EXPECT_GT(reports(), 0u);
  while (cudaStreamQuery(a) == cudaErrorNotReady) {
  }
  while (cudaStreamQuery(b) == cudaErrorNotReady) {
  }
  fill(data, b);
  EXPECT_EQ(reports(), 0u);
  (void)cudaGetLastError();
}

TEST_F(Threads, BlockingStreamsAreOrderedByTheLegacyStreamOnlyThroughIt) {
  std::int32_t* data = memory();
  cudaStream_t a = stream(cudaStreamDefault), b = stream(cudaStreamDefault);
  fill(data, a);
  fill(data, nullptr);
  fill(data, b);
  fill(data, nullptr);
  EXPECT_EQ(reports(), 0u);
  fill(data, a);
  fill(data, b);
  EXPECT_EQ(reports(), 1u);
  cudaStream_t apart = stream();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  fill(data, apart);
  fill(data, nullptr);
  EXPECT_EQ(reports(), 1u);
}

TEST_F(Threads, TheStreamOfAThreadIsItsOwn) {
  std::int32_t* data = memory();
  fill(data, cudaStreamPerThread);
  fill(data, cudaStreamPerThread);
  EXPECT_EQ(reports(), 0u);
  std::thread([&] { fill(data, cudaStreamPerThread); }).join();
  EXPECT_EQ(reports(), 1u);
}

TEST_F(Threads, SeedsChangeTheOrderAndRepeatIt) {
  const auto order = [](const std::string& scheduler) {
    Configuration configuration;
    configuration.scheduler = scheduler;
    Control::reset(configuration);
    static std::string ran;
    ran.clear();
    static char names[] = "abcdefgh";
    std::vector<cudaStream_t> streams;
    for (int i = 0; i < 4; ++i) streams.push_back(stream());
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(cudaLaunchHostFunc(
                    streams[static_cast<std::size_t>(i % 4)],
                    [](void* name) { ran += *static_cast<char*>(name); }, &names[i]),
                cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    return ran;
  };
  EXPECT_EQ(order("eager"), "abcdefgh");
  EXPECT_EQ(order("lazy"), "aebfcgdh");
  for (const std::string policy : {"random:", "pct:"}) {
    int different = 0;
    for (int seed = 0; seed < 20; ++seed) {
      const std::string first = order(policy + std::to_string(seed));
      EXPECT_EQ(first, order(policy + std::to_string(seed)));
      EXPECT_EQ(first.size(), 8u);
      EXPECT_LT(first.find('a'), first.find('e'));
      different += first != "abcdefgh" ? 1 : 0;
    }
    EXPECT_GT(different, 10) << policy;
  }
}

}  // namespace
}  // namespace ringside::tests::fakecuda
