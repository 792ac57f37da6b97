// SPDX-License-Identifier: MIT
/// The frame of the contract test.
#include "ringside/tests/cuda_contract/contract.hpp"

#include <cstdio>

#include "ringside/tests/fakecuda/control.hpp"

namespace ringside::tests {

using fakecuda::Control;
using fakecuda::ReportKind;

void observe(const std::string& what, cudaError_t code) {
  std::printf("observed: %s: %d %s\n", what.c_str(), static_cast<int>(code),
              cudaGetErrorName(code));
}

void observe(const std::string& what, long long value) {
  std::printf("observed: %s: %lld\n", what.c_str(), value);
}

namespace {

/// Kernels are loaded when they are first launched, which is no part of what a capture is asked.
void load_kernels() {
  EXPECT_EQ(fakecuda::launch_fill({nullptr, 0, 0, 0}, nullptr), cudaSuccess);
  EXPECT_EQ(fakecuda::launch_add({nullptr, nullptr, nullptr, 0}, nullptr), cudaSuccess);
  EXPECT_EQ(fakecuda::launch_spin(1, nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

}  // namespace

bool Contract::on_double() { return Control::present(); }

void Contract::SetUp() {
  if (on_double()) Control::reset();
  const cudaError_t error = cudaGetDeviceCount(&devices_);
  if (error != cudaSuccess || devices_ == 0)
    GTEST_SKIP() << "no device: " << static_cast<int>(error) << " " << cudaGetErrorString(error);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
  ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  load_kernels();
}

void Contract::TearDown() {
  if (devices_ == 0) return;
  settle();
  for (cudaEvent_t each : events_) EXPECT_EQ(cudaEventDestroy(each), cudaSuccess);
  for (cudaStream_t each : streams_) EXPECT_EQ(cudaStreamDestroy(each), cudaSuccess);
  for (std::int32_t* each : memory_) EXPECT_EQ(cudaFree(each), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  if (!on_double()) return;
  for (const auto& report : Control::take_reports())
    EXPECT_EQ(report.kind, ReportKind::misuse) << report.text;
  EXPECT_TRUE(Control::leaks().empty()) << Control::leaks()[0];
}

void Contract::settle() {
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  (void)cudaGetLastError();
}

std::int32_t* Contract::device_memory(std::size_t elements) {
  void* address = nullptr;
  EXPECT_EQ(cudaMalloc(&address, elements * sizeof(std::int32_t)), cudaSuccess);
  memory_.push_back(static_cast<std::int32_t*>(address));
  return memory_.back();
}

cudaStream_t Contract::stream(unsigned flags) {
  cudaStream_t made = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&made, flags), cudaSuccess);
  streams_.push_back(made);
  return made;
}

cudaEvent_t Contract::event(unsigned flags) {
  cudaEvent_t made = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&made, flags), cudaSuccess);
  events_.push_back(made);
  return made;
}

void Contract::fill(std::int32_t* data, std::int32_t value, std::size_t elements, cudaStream_t in) {
  EXPECT_EQ(fakecuda::launch_fill({data, value, elements, elements}, in), cudaSuccess);
}

void Contract::delay(cudaStream_t in) {
  constexpr std::uint64_t cycles = 20'000'000;  // 10 ms at 2 GHz
  EXPECT_EQ(fakecuda::launch_spin(cycles, in), cudaSuccess);
}

std::vector<std::int32_t> Contract::contents(const std::int32_t* data, std::size_t elements) {
  std::vector<std::int32_t> values(elements);
  EXPECT_EQ(
      cudaMemcpy(values.data(), data, elements * sizeof(std::int32_t), cudaMemcpyDeviceToHost),
      cudaSuccess);
  return values;
}

}  // namespace ringside::tests
