// SPDX-License-Identifier: MIT
/// The table of faults on GPUs, here virtual ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/tests/collectives/cuda/gpu_test.hpp"
#include "ringside/tests/fakecuda/control.hpp"
#include "ringside/tests/faults/checksum_table.hpp"
#include "ringside/tests/faults/fault_table.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

using fakecuda::Control;

/// On the calling thread's device.
class DeviceCallMemory final : public CallMemory {
 public:
  DeviceCallMemory(const UniformCall& call, int rank, int ranks)
      : CallMemory(call, rank, ranks),
        arguments_(host_.arguments()),
        input_(cuda::DeviceMemory::on(current_device(),
                                      std::max<std::size_t>(host_.input_bytes(), 1))),
        output_(cuda::DeviceMemory::on(current_device(),
                                       std::max<std::size_t>(host_.output_bytes(), 1))) {
    copy(input_.data(), arguments_.input, host_.input_bytes());
    copy(output_.data(), arguments_.output, host_.output_bytes());
  }

  [[nodiscard]] Arguments arguments() override {
    Arguments arguments = arguments_;
    arguments.input = input_.data();
    arguments.output = output_.data();
    return arguments;
  }
  [[nodiscard]] bool right() override { return fetch(), host_.right(); }
  [[nodiscard]] bool untouched() override { return fetch(), host_.untouched(); }

 private:
  static void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    const int device = current_device();
    cuda::check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy", device);
    // It may return before what comes from pageable memory has arrived.
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", device);
  }
  void fetch() {
    copy(const_cast<void*>(arguments_.input), input_.data(), host_.input_bytes());
    copy(arguments_.output, output_.data(), host_.output_bytes());
  }

  Arguments arguments_;
  cuda::DeviceMemory input_, output_;
};

FaultyExecutor gpus() {
  return {"cuda",
          [](int ranks) {
            std::vector<int> devices(static_cast<std::size_t>(ranks));
            std::iota(devices.begin(), devices.end(), 0);
            return World::cuda(devices);
          },
          [](const UniformCall& call, int rank, int ranks) {
            return std::make_unique<DeviceCallMemory>(call, rank, ranks);
          }};
}

TEST(Faults, AreToldToEveryRankOfGpus) { fmt::print("{}", run_fault_table(gpus())); }

TEST(Faults, ACorruptedChunkIsFoundByEveryRankOfGpus) {
  fmt::print("{}", run_checksum_table(
                       gpus(), [](bool spoils) { Control::spoil_peer_copy(spoils ? 1 : 0); }));
}

// --- an operation that fails ---------------------------------------------------------------------

/// On each rank; afterwards its device is lost.
void call_on_a_device_that_fails(Communicator& comm, std::uint64_t operation) {
  const UniformCall call{Collective::all_reduce, 5000, 0, {}, 1};
  const CallOptions options{.algorithm = "ring", .timeout = std::chrono::seconds(10)};
  DeviceCallMemory memory(call, comm.rank(), comm.size());
  comm.barrier();
  if (comm.rank() == 1)
    Control::fault_operation(Control::operations() + operation, cudaErrorIllegalAddress);
  comm.barrier();
  const Stopwatch watch;
  const auto first = outcome_of([&] { comm.submit(memory.arguments(), options); });
  // Who was done before it happened hears of it in the next call.
  const auto next = outcome_of([&] { comm.submit(memory.arguments(), options); });
  EXPECT_LT(watch.elapsed(), Seconds{10});
  for (const Outcome* const told : {&first, &next}) {
    if (told == &first && !told->code) continue;
    EXPECT_TRUE(told->code == ErrorCode::device || told->code == ErrorCode::failed) << told->what;
    EXPECT_TRUE(told->says("device")) << told->what;
    EXPECT_TRUE(told == &next || (told->says("rank") && told->peer)) << told->what;
  }
}

TEST(Faults, AnOperationThatFailsIsToldToEveryRankOfGpus) {
  if (!Control::present()) GTEST_SKIP() << "would lose a real device";
  for (const std::uint64_t operation : {1, 3, 5}) {
    Control::reset();
    World::cuda({0, 1, 2}).run(
        [&](Communicator& comm) { call_on_a_device_that_fails(comm, operation); });
    (void)Control::take_reports();
    Control::reset();
    World::cuda({0, 1, 2}).run([](Communicator& comm) {
      DeviceCallMemory memory({Collective::all_reduce, 5000, 0, {}, 1}, comm.rank(), comm.size());
      comm.submit(memory.arguments(), {});
      EXPECT_TRUE(memory.right());
    });
  }
}

}  // namespace
}  // namespace ringside::tests
