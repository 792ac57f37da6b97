// SPDX-License-Identifier: MIT
/// What a device refuses, with its code; and what it would not tell but the double does.
#include <gtest/gtest.h>

#include <string>

#include "ringside/tests/fakecuda/control.hpp"
#include "ringside/tests/fakecuda/test_kernels.hpp"

namespace ringside::tests::fakecuda {
namespace {

constexpr std::size_t count = 64;
constexpr std::size_t bytes = count * sizeof(std::int32_t);

class Misuse : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Control::present());
    Control::reset();
  }

  static std::int32_t* memory(int device) {
    void* address = nullptr;
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&address, bytes), cudaSuccess);
    EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
    return static_cast<std::int32_t*>(address);
  }
  static std::int32_t* pinned() {
    void* address = nullptr;
    EXPECT_EQ(cudaMallocHost(&address, bytes), cudaSuccess);
    return static_cast<std::int32_t*>(address);
  }
  static cudaStream_t stream(int device = 0) {
    cudaStream_t made = nullptr;
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
    return made;
  }
  /// One report of this kind, with these words.
  static void expect_report(ReportKind kind, const std::string& words) {
    const auto reports = Control::take_reports();
    ASSERT_EQ(reports.size(), 1u) << words;
    EXPECT_EQ(reports[0].kind, kind) << reports[0].text;
    EXPECT_NE(reports[0].text.find(words), std::string::npos) << reports[0].text;
  }
  static void expect_none() {
    for (const Report& report : Control::take_reports()) ADD_FAILURE() << report.text;
  }
};

TEST_F(Misuse, AnotherDevicesMemoryWithoutPeerAccessIsAStickyFault) {
  std::int32_t* other = memory(1);
  cudaStream_t s = stream();
  EXPECT_EQ(launch_fill({other, 1, count, count}, s), cudaSuccess);  // the launch itself is fine
  expect_report(ReportKind::illegal_access, "memory of device 1 without peer access");
  EXPECT_EQ(cudaStreamSynchronize(s), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  void* address = nullptr;
  EXPECT_EQ(cudaMalloc(&address, 4), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);  // the other device is well
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  (void)cudaSetDevice(0);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&address, 4), cudaSuccess);
}

TEST_F(Misuse, PeerAccessMakesItLegal) {
  std::int32_t* other = memory(1);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
  EXPECT_EQ(launch_fill({other, 1, count, count}, stream()), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  expect_none();
}

TEST_F(Misuse, OrdinaryMemoryInAKernelIsAFault) {
  std::int32_t local[count];
  EXPECT_EQ(launch_fill({local, 1, count, count}, stream()), cudaSuccess);
  expect_report(ReportKind::illegal_access, "no device knows");
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}

TEST_F(Misuse, AnAccessBehindTheEndIsAFault) {
  EXPECT_EQ(launch_fill({memory(0), 1, count + 1, count + 1}, stream()), cudaSuccess);
  expect_report(ReportKind::illegal_access, "behind the end of an allocation of 256 bytes");
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}

TEST_F(Misuse, CopiesAreCheckedWhenTheyAreIssued) {
  std::int32_t *a = memory(0), *b = memory(1);
  cudaStream_t s = stream();
  EXPECT_EQ(cudaMemcpyPeerAsync(b, 0, a, 0, bytes, s), cudaErrorInvalidValue);
  expect_report(ReportKind::misuse, "between other devices than it says");
  EXPECT_EQ(cudaMemcpyAsync(b, a, bytes + 1, cudaMemcpyDeviceToDevice, s), cudaErrorInvalidValue);
  expect_report(ReportKind::misuse, "behind the end");
  EXPECT_EQ(cudaMemcpyAsync(b, a, bytes, cudaMemcpyHostToDevice, s), cudaErrorInvalidValue);
  expect_report(ReportKind::misuse, "direction");
}

TEST_F(Misuse, StaleHandlesAreRefused) {
  cudaStream_t s = stream();
  cudaEvent_t e = nullptr;
  ASSERT_EQ(cudaEventCreate(&e), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(s), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(e), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(s), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventDestroy(e), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventSynchronize(e), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(Control::take_reports().size(), 4u);
  std::int32_t* data = memory(0);
  EXPECT_EQ(cudaFree(data), cudaSuccess);
  EXPECT_EQ(cudaFree(data), cudaErrorInvalidValue);
  expect_report(ReportKind::misuse, "twice");
}

TEST_F(Misuse, StreamsAndEventsOfAnotherDeviceAreRefused) {
  cudaStream_t other = stream(1);
  EXPECT_EQ(launch_fill({memory(0), 1, count, count}, other), cudaErrorInvalidResourceHandle);
  expect_report(ReportKind::misuse, "while device 0 is current");
  cudaEvent_t e = nullptr;
  ASSERT_EQ(cudaEventCreate(&e), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(e, other), cudaErrorInvalidResourceHandle);
  expect_report(ReportKind::misuse, "an event of device 0 recorded in a stream of device 1");
}

TEST_F(Misuse, MemoryFreedTooEarlyIsReported) {
  std::int32_t* data = memory(0);
  EXPECT_EQ(launch_fill({data, 1, count, count}, stream()), cudaSuccess);
  EXPECT_EQ(cudaFree(data), cudaSuccess);
  expect_report(ReportKind::pending_free, "cudaFree");
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(Misuse, PinnedMemoryReadByTheHostBeforeItIsWrittenIsReported) {
  std::int32_t *data = memory(0), *staging = pinned();
  cudaStream_t s = stream();
  EXPECT_EQ(launch_fill({data, 1, count, count}, s), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(staging, data, bytes, cudaMemcpyDeviceToHost, s), cudaSuccess);
  Control::host_reads(staging, bytes);
  expect_report(ReportKind::race, "host read");
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  Control::host_reads(staging, bytes);
  expect_none();
}

TEST_F(Misuse, PinnedMemoryWrittenByTheHostWhileItIsReadIsReported) {
  std::int32_t *data = memory(0), *staging = pinned();
  cudaStream_t s = stream();
  EXPECT_EQ(cudaMemcpyAsync(data, staging, bytes, cudaMemcpyHostToDevice, s), cudaSuccess);
  Control::host_reads(staging, bytes);
  expect_none();  // two readers
  Control::host_writes(staging, 4);
  expect_report(ReportKind::race, "host write");
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
}

TEST_F(Misuse, ACopyFromPageableMemoryIsNotOverWhenTheCallReturns) {
  std::int32_t* data = memory(0);
  std::int32_t local[count] = {};
  EXPECT_EQ(cudaMemcpy(data, local, bytes, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(launch_fill({data, 1, count, count}, stream()),
            cudaSuccess);  // not ordered with stream 0
  expect_report(ReportKind::race, "copy");
}

TEST_F(Misuse, TwoHalvesOfABufferAreTwoThings) {
  std::int32_t* data = memory(0);
  cudaStream_t a = stream(), b = stream();
  EXPECT_EQ(launch_fill({data, 1, count / 2, count / 2}, a), cudaSuccess);
  EXPECT_EQ(launch_fill({data + count / 2, 1, count / 2, count / 2}, b), cudaSuccess);
  expect_none();
  EXPECT_EQ(launch_fill({data + count / 2 - 1, 1, 1, 1}, b), cudaSuccess);
  expect_report(ReportKind::race, "bytes 124 to 128 of 256 of device 0");
}

TEST_F(Misuse, TwoReadersNeedNoOrder) {
  std::int32_t *from = memory(0), *to = memory(0);
  cudaStream_t a = stream(), b = stream();
  EXPECT_EQ(cudaMemsetAsync(from, 0, bytes, nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(launch_add({to, from, from, count / 2}, a), cudaSuccess);
  EXPECT_EQ(launch_add({to + count / 2, from, from, count / 2}, b), cudaSuccess);
  expect_none();
}

TEST_F(Misuse, AReportSaysWhoDidWhat) {
  std::int32_t* data = memory(0);
  cudaStream_t a = stream(), b = stream();
  EXPECT_EQ(launch_fill({data, 1, count, count}, a), cudaSuccess);
  EXPECT_EQ(launch_fill({data, 2, count, count}, b), cudaSuccess);
  EXPECT_EQ(launch_fill({data, 2, count, count}, b), cudaSuccess);
  const auto reports = Control::take_reports();
  ASSERT_EQ(reports.size(), 2u);
  const Report& report = reports[0];
  EXPECT_NE(report.earlier.kind.find("kernel"), std::string::npos);
  EXPECT_NE(report.earlier.kind.find("kernels::fill"), std::string::npos);
  EXPECT_EQ(report.earlier.device, 0);
  EXPECT_EQ(report.earlier.stream, 1u);
  EXPECT_EQ(report.later.stream, 2u);
  EXPECT_EQ(report.earlier.issue, 1u);
  EXPECT_EQ(report.later.issue, 2u);
  EXPECT_TRUE(report.later.writes);
  EXPECT_EQ(report.later.end - report.later.begin, bytes);
}

TEST_F(Misuse, AKernelWithoutHostVersionIsAnError) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(launch_unknown(stream()), cudaErrorInvalidDeviceFunction);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("unknown"), std::string::npos);
}

TEST_F(Misuse, LeaksAreListed) {
  EXPECT_TRUE(Control::leaks().empty());
  std::int32_t* data = memory(2);
  cudaStream_t s = stream(1);
  cudaEvent_t e = nullptr;
  ASSERT_EQ(cudaEventCreate(&e), cudaSuccess);
  const auto leaks = Control::leaks();
  ASSERT_EQ(leaks.size(), 3u);
  EXPECT_NE(leaks[0].find("256 bytes"), std::string::npos) << leaks[0];
  EXPECT_NE(leaks[0].find("device 2"), std::string::npos) << leaks[0];
  EXPECT_EQ(leaks[1], "stream 1 of device 1");
  EXPECT_EQ(cudaFree(data), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(s), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(e), cudaSuccess);
  EXPECT_TRUE(Control::leaks().empty());
}

TEST_F(Misuse, ReportsThatNobodyTookEndTheProcessWithCode99) {
  EXPECT_EXIT(
      {
        (void)cudaFree(reinterpret_cast<void*>(0x1000));
        std::exit(0);
      },
      testing::ExitedWithCode(99), "fakecuda: misuse: release of memory");
  EXPECT_EXIT(
      {
        (void)cudaFree(reinterpret_cast<void*>(0x1000));
        Control::reset();
        std::exit(0);
      },
      testing::ExitedWithCode(99), "fakecuda: misuse");
  EXPECT_EXIT(
      {
        (void)cudaFree(reinterpret_cast<void*>(0x1000));
        (void)Control::take_reports();
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace ringside::tests::fakecuda
