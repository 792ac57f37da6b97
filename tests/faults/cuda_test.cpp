// SPDX-License-Identifier: MIT
/// The table of faults on GPUs, here virtual ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "ringside/collectives/executors/cuda/runtime.hpp"
#include "ringside/tests/collectives/cuda/gpu_test.hpp"
#include "ringside/tests/fakecuda/control.hpp"
#include "ringside/tests/faults/checksum_table.hpp"
#include "ringside/tests/faults/fault_table.hpp"

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

}  // namespace
}  // namespace ringside::tests
