// SPDX-License-Identifier: MIT
/// What a capture forbids, and how it says so.
#include <functional>
#include <thread>

#include "ringside/tests/cuda_contract/contract.hpp"

namespace ringside::tests {
namespace {

constexpr std::size_t count = 100;

class CaptureRules : public Contract {
 protected:
  void SetUp() override {
    Contract::SetUp();
    if (IsSkipped()) return;
    data_ = device_memory(count);
    a_ = stream();
    b_ = stream();
    e_ = event();
  }

  static void begin(cudaStream_t s, cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal) {
    ASSERT_EQ(cudaStreamBeginCapture(s, mode), cudaSuccess);
  }
  /// Ends a capture, and gives its graph away.
  static cudaError_t end(cudaStream_t s) {
    cudaGraph_t graph = nullptr;
    const cudaError_t error = cudaStreamEndCapture(s, &graph);
    EXPECT_EQ(graph != nullptr, error == cudaSuccess);
    if (graph != nullptr) {
      EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    }
    return error;
  }
  static cudaStreamCaptureStatus status_of(cudaStream_t s) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    EXPECT_EQ(cudaStreamIsCapturing(s, &status), cudaSuccess);
    return status;
  }
  /// Tries a call while a_ captures, says what it returned and what that did to the capture.
  void observe_during_capture(const std::string& what, const std::function<cudaError_t()>& call,
                              cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
    begin(a_, mode);
    fill(data_, 1, count, a_);
    observe(what + " during a capture", call());
    observe("  its end", end(a_));
    settle();
  }

  std::int32_t* data_ = nullptr;
  cudaStream_t a_ = nullptr, b_ = nullptr;
  cudaEvent_t e_ = nullptr;
};

TEST_F(CaptureRules, TheLegacyStreamCannotBeCaptured) {
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed),
            cudaErrorStreamCaptureUnsupported);
}

TEST_F(CaptureRules, ACaptureBeginsAndEndsOnce) {
  begin(a_);
  const cudaError_t again = cudaStreamBeginCapture(a_, cudaStreamCaptureModeRelaxed);
  EXPECT_NE(again, cudaSuccess);
  observe("cudaStreamBeginCapture while capturing", again);
  observe("  its end", end(a_));
  const cudaError_t nothing = end(b_);
  EXPECT_NE(nothing, cudaSuccess);
  observe("cudaStreamEndCapture of no capture", nothing);
}

TEST_F(CaptureRules, ACapturingStreamCannotBeWaitedFor) {
  for (const auto wait : {&cudaStreamSynchronize, &cudaStreamQuery}) {
    begin(a_);
    fill(data_, 1, count, a_);
    EXPECT_EQ(wait(a_), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(status_of(a_), cudaStreamCaptureStatusInvalidated);
    EXPECT_EQ(fakecuda::launch_fill({data_, 1, count, count}, a_),
              cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(end(a_), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(status_of(a_), cudaStreamCaptureStatusNone);
  }
  fill(data_, 1, count, a_);
  EXPECT_EQ(cudaStreamSynchronize(a_), cudaSuccess);
}

TEST_F(CaptureRules, ACapturedEventCannotBeWaitedFor) {
  for (const auto wait : {&cudaEventSynchronize, &cudaEventQuery}) {
    begin(a_);
    fill(data_, 1, count, a_);
    EXPECT_EQ(cudaEventRecord(e_, a_), cudaSuccess);
    EXPECT_EQ(wait(e_), cudaErrorCapturedEvent);
    observe("the end after waiting for a captured event", end(a_));
  }
}

TEST_F(CaptureRules, AnEventFromOutsideIsNotWaitedForInside) {
  ASSERT_EQ(cudaEventRecord(e_, b_), cudaSuccess);
  begin(a_);
  fill(data_, 1, count, a_);
  EXPECT_EQ(cudaStreamWaitEvent(a_, e_, 0), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(end(a_), cudaErrorStreamCaptureInvalidated);
}

TEST_F(CaptureRules, TwoCapturesDoNotMeet) {
  begin(a_);
  begin(b_);
  fill(data_, 1, count, a_);
  EXPECT_EQ(cudaEventRecord(e_, a_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(b_, e_, 0), cudaErrorStreamCaptureMerge);
  observe("the end of the waiting capture", end(b_));
  observe("the end of the other capture", end(a_));
}

TEST_F(CaptureRules, WorkThatIsNotJoinedEndsInAnError) {
  begin(a_);
  EXPECT_EQ(cudaEventRecord(e_, a_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(b_, e_, 0), cudaSuccess);
  fill(data_, 1, count, b_);
  EXPECT_EQ(end(a_), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(status_of(a_), cudaStreamCaptureStatusNone);
  EXPECT_EQ(status_of(b_), cudaStreamCaptureStatusNone);
}

TEST_F(CaptureRules, AForkWithoutWorkIsObserved) {
  begin(a_);
  fill(data_, 1, count, a_);
  EXPECT_EQ(cudaEventRecord(e_, a_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(b_, e_, 0), cudaSuccess);
  observe("the end with a fork that did nothing", end(a_));
}

TEST_F(CaptureRules, ACaptureEndsWhereItBegan) {
  begin(a_);
  fill(data_, 1, count, a_);
  EXPECT_EQ(cudaEventRecord(e_, a_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(b_, e_, 0), cudaSuccess);
  EXPECT_EQ(end(b_), cudaErrorStreamCaptureUnmatched);
  observe("the end in the right stream after one in the wrong", end(a_));
}

TEST_F(CaptureRules, ACaptureEndsInItsThreadUnlessRelaxed) {
  begin(a_);
  fill(data_, 1, count, a_);
  std::thread([&] { EXPECT_EQ(end(a_), cudaErrorStreamCaptureWrongThread); }).join();
  observe("the end in the right thread after one in the wrong", end(a_));
  begin(b_, cudaStreamCaptureModeRelaxed);
  fill(data_, 1, count, b_);
  std::thread([&] { EXPECT_EQ(end(b_), cudaSuccess); }).join();
}

TEST_F(CaptureRules, TheLegacyStreamMustNotWaitForACapture) {
  cudaStream_t blocking = stream(cudaStreamDefault);
  begin(blocking);
  fill(data_, 1, count, blocking);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  EXPECT_EQ(cudaStreamIsCapturing(nullptr, &status), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(status_of(blocking), cudaStreamCaptureStatusActive);
  EXPECT_EQ(cudaMemsetAsync(data_, 0, 4, nullptr), cudaErrorStreamCaptureImplicit);
  observe("the end after work in the legacy stream", end(blocking));
}

TEST_F(CaptureRules, TheLegacyStreamIsFreeWhereOnlyOthersCapture) {
  begin(a_);
  fill(data_, 1, count, a_);
  EXPECT_EQ(cudaMemsetAsync(data_, 0, 4, nullptr), cudaSuccess);
  EXPECT_EQ(end(a_), cudaSuccess);
}

TEST_F(CaptureRules, AllocationIsUnsafeExceptWhenRelaxed) {
  void* address = nullptr;
  for (const auto mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal}) {
    begin(a_, mode);
    EXPECT_EQ(cudaMalloc(&address, 1024), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(end(a_), cudaErrorStreamCaptureInvalidated);
  }
  (void)cudaGetLastError();
  begin(a_, cudaStreamCaptureModeRelaxed);
  ASSERT_EQ(cudaMalloc(&address, 1024), cudaSuccess);
  EXPECT_EQ(status_of(a_), cudaStreamCaptureStatusActive);
  EXPECT_EQ(end(a_), cudaSuccess);
  EXPECT_EQ(cudaFree(address), cudaSuccess);
}

TEST_F(CaptureRules, OnlyAGlobalCaptureForbidsThingsToOtherThreads) {
  void* address = nullptr;
  begin(a_, cudaStreamCaptureModeThreadLocal);
  std::thread([&] { EXPECT_EQ(cudaMalloc(&address, 1024), cudaSuccess); }).join();
  EXPECT_EQ(end(a_), cudaSuccess);
  EXPECT_EQ(cudaFree(address), cudaSuccess);
  begin(a_, cudaStreamCaptureModeGlobal);
  std::thread([&] {
    EXPECT_EQ(cudaMalloc(&address, 1024), cudaErrorStreamCaptureUnsupported);
  }).join();
  observe("the end after another thread was refused", end(a_));
}

TEST_F(CaptureRules, AThreadMayTakeTheRiskItself) {
  auto mode = cudaStreamCaptureModeRelaxed;
  ASSERT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
  EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);
  void* address = nullptr;
  begin(a_, cudaStreamCaptureModeGlobal);
  EXPECT_EQ(cudaMalloc(&address, 1024), cudaSuccess);
  EXPECT_EQ(end(a_), cudaSuccess);
  EXPECT_EQ(cudaFree(address), cudaSuccess);
  ASSERT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
  EXPECT_EQ(mode, cudaStreamCaptureModeRelaxed);
}

TEST_F(CaptureRules, ADeviceThatCapturesCannotBeWaitedFor) {
  begin(a_);
  fill(data_, 1, count, a_);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
  observe("the end after cudaDeviceSynchronize", end(a_));
}

TEST_F(CaptureRules, PeerCopiesAreNotCaptured) {
  begin(a_);
  fill(data_, 1, count, a_);
  EXPECT_EQ(cudaMemcpyPeerAsync(data_ + count / 2, 0, data_, 0, sizeof(std::int32_t), a_),
            cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(status_of(a_), cudaStreamCaptureStatusInvalidated);
  EXPECT_EQ(end(a_), cudaErrorStreamCaptureInvalidated);
  (void)cudaGetLastError();
  if (devices() < 2) return;
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  std::int32_t* there = device_memory(count);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  observe_during_capture("cudaMemcpyPeerAsync to another device", [&] {
    return cudaMemcpyPeerAsync(there, 1, data_, 0, sizeof(std::int32_t), a_);
  });
  observe_during_capture("cudaMemcpyAsync to another device", [&] {
    return cudaMemcpyAsync(there, data_, sizeof(std::int32_t), cudaMemcpyDefault, a_);
  });
}

TEST_F(CaptureRules, EventsOfAFinishedCaptureAreObserved) {
  begin(a_);
  fill(data_, 1, count, a_);
  EXPECT_EQ(cudaEventRecord(e_, a_), cudaSuccess);
  EXPECT_EQ(end(a_), cudaSuccess);
  observe("cudaEventQuery of an event of a finished capture", cudaEventQuery(e_));
  (void)cudaGetLastError();
  observe("cudaEventSynchronize of an event of a finished capture", cudaEventSynchronize(e_));
  (void)cudaGetLastError();
  observe("cudaStreamWaitEvent for an event of a finished capture", cudaStreamWaitEvent(b_, e_, 0));
  (void)cudaGetLastError();
  observe_during_capture("cudaStreamWaitEvent for an event of a finished capture",
                         [&] { return cudaStreamWaitEvent(a_, e_, 0); });
  EXPECT_EQ(cudaStreamSynchronize(b_), cudaSuccess);
  // Recorded anew, it is an event like any other.
  EXPECT_EQ(cudaEventRecord(e_, b_), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(e_), cudaSuccess);
}

TEST_F(CaptureRules, WhatNobodyPromisesIsObserved) {
  std::int32_t local = 5;
  void* address = nullptr;
  cudaStream_t made = nullptr;
  cudaEvent_t made_event = nullptr;
  cudaEvent_t never = event();
  observe_during_capture("cudaStreamWaitEvent for an event never recorded",
                         [&] { return cudaStreamWaitEvent(a_, never, 0); });
  observe_during_capture("cudaEventQuery of an ordinary event",
                         [&] { return cudaEventQuery(never); });
  observe_during_capture("cudaEventSynchronize of an ordinary event",
                         [&] { return cudaEventSynchronize(never); });
  observe_during_capture("cudaStreamQuery of another stream", [&] { return cudaStreamQuery(b_); });
  observe_during_capture("cudaStreamSynchronize of another stream",
                         [&] { return cudaStreamSynchronize(b_); });
  observe_during_capture("cudaStreamCreate",
                         [&] { return cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking); });
  observe_during_capture("cudaStreamDestroy of another stream",
                         [&] { return cudaStreamDestroy(made); });
  observe_during_capture("cudaEventCreate", [&] {
    return cudaEventCreateWithFlags(&made_event, cudaEventDisableTiming);
  });
  observe_during_capture("cudaEventDestroy", [&] { return cudaEventDestroy(made_event); });
  ASSERT_EQ(cudaMalloc(&address, 1024), cudaSuccess);
  cudaError_t freed = cudaSuccess;
  observe_during_capture("cudaFree", [&] { return freed = cudaFree(address); });
  if (freed != cudaSuccess) {
    EXPECT_EQ(cudaFree(address), cudaSuccess);
  }
  cudaError_t allocated = cudaSuccess;
  observe_during_capture("cudaMallocHost",
                         [&] { return allocated = cudaMallocHost(&address, 1024); });
  if (allocated == cudaSuccess) {
    EXPECT_EQ(cudaFreeHost(address), cudaSuccess);
  }
  // The double is stricter here than CUDA 13, which gives 0.
  observe_during_capture("cudaMemcpy",
                         [&] { return cudaMemcpy(data_, &local, 4, cudaMemcpyHostToDevice); });
  observe_during_capture("cudaMemcpyAsync from pageable memory", [&] {
    return cudaMemcpyAsync(data_, &local, 4, cudaMemcpyHostToDevice, a_);
  });
  observe_during_capture("cudaMemcpyAsync to pageable memory", [&] {
    return cudaMemcpyAsync(&local, data_, 4, cudaMemcpyDeviceToHost, a_);
  });
  observe_during_capture(
      "cudaDeviceSynchronize", [] { return cudaDeviceSynchronize(); },
      cudaStreamCaptureModeRelaxed);
  observe_during_capture("cudaGetDeviceProperties", [] {
    cudaDeviceProp properties;
    return cudaGetDeviceProperties(&properties, 0);
  });
  observe_during_capture("a launch with an impossible grid", [&] {
    return fakecuda::launch_fill_shaped({data_, 1, 1, 1}, 0, 1, a_);
  });
}

}  // namespace
}  // namespace ringside::tests
