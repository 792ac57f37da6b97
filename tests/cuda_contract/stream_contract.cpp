// SPDX-License-Identifier: MIT
/// Streams, events, kernels, host functions.
#include <atomic>

#include "ringside/tests/cuda_contract/contract.hpp"

namespace ringside::tests {
namespace {

using StreamContract = Contract;
constexpr std::size_t count = 1000;

TEST_F(StreamContract, StreamsKnowWhatTheyAre) {
  cudaStream_t blocking = stream(cudaStreamDefault), other = stream(cudaStreamNonBlocking);
  unsigned flags = 77;
  EXPECT_EQ(cudaStreamGetFlags(other, &flags), cudaSuccess);
  EXPECT_EQ(flags, unsigned{cudaStreamNonBlocking});
  EXPECT_EQ(cudaStreamGetFlags(blocking, &flags), cudaSuccess);
  EXPECT_EQ(flags, unsigned{cudaStreamDefault});
  unsigned long long a = 0, b = 0;
  EXPECT_EQ(cudaStreamGetId(blocking, &a), cudaSuccess);
  EXPECT_EQ(cudaStreamGetId(other, &b), cudaSuccess);
  EXPECT_NE(a, b);
  int least = 0, greatest = 0, priority = 7;
  EXPECT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  EXPECT_LE(greatest, least);
  EXPECT_EQ(cudaStreamGetPriority(other, &priority), cudaSuccess);
  EXPECT_EQ(priority, 0);
  cudaStream_t first = nullptr;
  ASSERT_EQ(cudaStreamCreateWithPriority(&first, cudaStreamNonBlocking, greatest), cudaSuccess);
  EXPECT_EQ(cudaStreamGetPriority(first, &priority), cudaSuccess);
  EXPECT_EQ(priority, greatest);
  EXPECT_EQ(cudaStreamDestroy(first), cudaSuccess);
#if CUDART_VERSION >= 12080
  int device = -1;
  EXPECT_EQ(cudaStreamGetDevice(other, &device), cudaSuccess);
  EXPECT_EQ(device, 0);
#endif
  EXPECT_EQ(cudaStreamCreateWithFlags(&first, 1234), cudaErrorInvalidValue);
  (void)cudaGetLastError();
}

TEST_F(StreamContract, AStreamWithoutWorkIsReady) {
  EXPECT_EQ(cudaStreamQuery(stream()), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream()), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
}

TEST_F(StreamContract, AnEventNeverRecordedIsNothingToWaitFor) {
  cudaEvent_t never = event();
  cudaStream_t s = stream();
  EXPECT_EQ(cudaEventQuery(never), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(never), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(s, never, 0), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
}

TEST_F(StreamContract, WorkUnderWayIsNotReady) {
  cudaStream_t s = stream();
  cudaEvent_t e = event();
  for (int i = 0; i < 3; ++i) delay(s);
  ASSERT_EQ(cudaEventRecord(e, s), cudaSuccess);
  const cudaError_t now = cudaEventQuery(e);
  EXPECT_TRUE(now == cudaErrorNotReady || (on_double() && now == cudaSuccess)) << now;
  if (now == cudaErrorNotReady) {
    observe("cudaPeekAtLastError after a query that is not ready", cudaPeekAtLastError());
    EXPECT_EQ(cudaStreamQuery(s), cudaErrorNotReady);
  }
  EXPECT_EQ(cudaEventSynchronize(e), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(e), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(s), cudaSuccess);
  (void)cudaGetLastError();
}

TEST_F(StreamContract, PollingComesToAnEnd) {
  cudaStream_t s = stream();
  for (int i = 0; i < 3; ++i) delay(s);
  cudaError_t now = cudaStreamQuery(s);
  while (now == cudaErrorNotReady) now = cudaStreamQuery(s);
  EXPECT_EQ(now, cudaSuccess);
  (void)cudaGetLastError();
}

TEST_F(StreamContract, AWaitOrdersStreams) {
  std::int32_t* data = device_memory(count);
  cudaStream_t a = stream(), b = stream();
  cudaEvent_t e = event(), f = event();
  delay(a);
  fill(data, 1, count, a);
  ASSERT_EQ(cudaEventRecord(e, a), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(b, e, 0), cudaSuccess);
  EXPECT_EQ(fakecuda::launch_add({data, data, data, count}, b), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(f, b), cudaSuccess);
  ASSERT_EQ(cudaEventSynchronize(f), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(e), cudaSuccess);
  EXPECT_EQ(contents(data, count), std::vector<std::int32_t>(count, 2));
}

TEST_F(StreamContract, AWaitMeansWhatTheEventHadRecordedWhenItWasIssued) {
  std::int32_t* data = device_memory(count);
  cudaStream_t a = stream(), b = stream();
  cudaEvent_t e = event();
  fill(data, 1, count, a);
  ASSERT_EQ(cudaEventRecord(e, a), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(b, e, 0), cudaSuccess);
  // Recorded anew behind a wait for b: if b waited for this, both would wait for ever.
  cudaEvent_t f = event();
  ASSERT_EQ(cudaEventRecord(f, b), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(a, f, 0), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(e, a), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(b), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(a), cudaSuccess);
}

TEST_F(StreamContract, TimeBetweenEventsHasTheRightSign) {
  cudaStream_t s = stream();
  cudaEvent_t start = event(cudaEventDefault), end = event(cudaEventDefault);
  float time = -1;
  EXPECT_EQ(cudaEventElapsedTime(&time, start, end),
            cudaErrorInvalidResourceHandle);  // not recorded
  ASSERT_EQ(cudaEventRecord(start, s), cudaSuccess);
  delay(s);
  ASSERT_EQ(cudaEventRecord(end, s), cudaSuccess);
  ASSERT_EQ(cudaEventSynchronize(end), cudaSuccess);
  ASSERT_EQ(cudaEventElapsedTime(&time, start, end), cudaSuccess);
  EXPECT_GT(time, 0.0F);
  ASSERT_EQ(cudaEventElapsedTime(&time, end, start), cudaSuccess);
  EXPECT_LT(time, 0.0F);
  ASSERT_EQ(cudaEventElapsedTime(&time, start, start), cudaSuccess);
  EXPECT_EQ(time, 0.0F);
  cudaEvent_t untimed = event(cudaEventDisableTiming);
  ASSERT_EQ(cudaEventRecord(untimed, s), cudaSuccess);
  ASSERT_EQ(cudaEventSynchronize(untimed), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&time, start, untimed), cudaErrorInvalidResourceHandle);
  (void)cudaGetLastError();
}

TEST_F(StreamContract, TheLegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
  std::int32_t* data = device_memory(count);
  cudaStream_t a = stream(cudaStreamDefault), b = stream(cudaStreamDefault);
  delay(a);
  fill(data, 1, count, a);
  EXPECT_EQ(fakecuda::launch_add({data, data, data, count}, nullptr), cudaSuccess);
  EXPECT_EQ(fakecuda::launch_add({data, data, data, count}, b), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(b), cudaSuccess);
  EXPECT_EQ(contents(data, count), std::vector<std::int32_t>(count, 4));
}

TEST_F(StreamContract, AnEventOfTheLegacyStreamCoversBlockingStreams) {
  std::int32_t* data = device_memory(count);
  cudaStream_t a = stream(cudaStreamDefault), b = stream(cudaStreamNonBlocking);
  cudaEvent_t e = event();
  delay(a);
  fill(data, 1, count, a);
  ASSERT_EQ(cudaEventRecord(e, nullptr), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(b, e, 0), cudaSuccess);
  EXPECT_EQ(fakecuda::launch_add({data, data, data, count}, b), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(b), cudaSuccess);
  EXPECT_EQ(contents(data, count), std::vector<std::int32_t>(count, 2));
}

TEST_F(StreamContract, TheStreamOfAThreadIsAStream) {
  std::int32_t* data = device_memory(count);
  fill(data, 3, count, cudaStreamPerThread);
  EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
  EXPECT_EQ(contents(data, count), std::vector<std::int32_t>(count, 3));
}

TEST_F(StreamContract, ImpossibleGridsAreRefusedAndDoNoHarm) {
  std::int32_t* data = device_memory(count);
  cudaStream_t s = stream();
  const auto expect_refused = [](cudaError_t error) {  // which of the two, releases differ in
    EXPECT_TRUE(error == cudaErrorInvalidValue || error == cudaErrorInvalidConfiguration) << error;
  };
  expect_refused(fakecuda::launch_fill_shaped({data, 1, count, count}, 1, 2048, s));
  const cudaError_t empty = fakecuda::launch_fill_shaped({data, 1, count, count}, 0, 32, s);
  expect_refused(empty);
  observe("a launch with an impossible grid", empty);
  EXPECT_EQ(cudaGetLastError(), empty);
  fill(data, 1, count, s);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
}

TEST_F(StreamContract, AFunctionThatIsNoKernelIsRefused) {
  if (!on_double()) return;  // a runtime may take the address for a cudaKernel_t and follow it
  int parameter = 0;
  void* arguments[] = {&parameter};
  const void* no_kernel = &parameter;
  EXPECT_EQ(cudaLaunchKernel(no_kernel, 1, 1, arguments, 0, stream()),
            cudaErrorInvalidDeviceFunction);
  (void)cudaGetLastError();
}

TEST_F(StreamContract, HostFunctionsRunInTheirTurn) {
  std::int32_t* data = device_memory(count);
  cudaStream_t s = stream();
  std::atomic<int> calls{0};
  delay(s);
  EXPECT_EQ(cudaLaunchHostFunc(
                s, [](void* counter) { ++*static_cast<std::atomic<int>*>(counter); }, &calls),
            cudaSuccess);
  fill(data, 1, count, s);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(calls, 1);
}

TEST_F(StreamContract, ADestroyedStreamStillDoesItsWork) {
  std::int32_t* data = device_memory(count);
  cudaStream_t s = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), cudaSuccess);
  cudaEvent_t e = event();
  delay(s);
  fill(data, 5, count, s);
  ASSERT_EQ(cudaEventRecord(e, s), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(s), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(e), cudaSuccess);
  EXPECT_EQ(contents(data, count), std::vector<std::int32_t>(count, 5));
}

TEST_F(StreamContract, StreamsAndEventsOfAnotherDeviceAreRefused) {
  if (devices() < 2) return;
  std::int32_t* data = device_memory(count);
  cudaStream_t s = stream();
  cudaEvent_t e = event();
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  cudaStream_t other = stream();
  EXPECT_EQ(fakecuda::launch_fill({data, 1, count, count}, s), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(e, other), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(e, s), cudaSuccess);  // whatever device is current
  EXPECT_EQ(cudaStreamWaitEvent(other, e, 0), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
  (void)cudaGetLastError();
}

}  // namespace
}  // namespace ringside::tests
