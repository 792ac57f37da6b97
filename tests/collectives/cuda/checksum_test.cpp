// SPDX-License-Identifier: MIT
/// Checksums from end to end on GPUs: every bit that flips between two devices is found, by all
/// ranks; without a fault they change nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "ringside/base/options.hpp"
#include "ringside/collectives/reduction/checksum.hpp"
#include "ringside/collectives/reduction/cuda/checksum_kernel.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/collectives/cuda/gpu_test.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

using cuda::check;
using cuda::DeviceMemory;
using cuda::Stream;
using fakecuda::Control;

class CudaChecksum : public GpuTest {
 protected:
  ScopedOption checksum_{"checksum", "1"};
};

TEST_F(CudaChecksum, OfTheDeviceIsThatOfTheHost) {
  constexpr std::size_t room = 5000;
  std::vector<std::byte> bytes(room);
  for (std::size_t i = 0; i < room; ++i) bytes[i] = static_cast<std::byte>(i * 37 + i / 256);
  const auto data = DeviceMemory::on(0, room);
  const auto sum = DeviceMemory::on(0, sizeof(std::uint64_t));
  const auto stream = Stream::on(0);
  check(cudaMemcpy(data.data(), bytes.data(), room, cudaMemcpyDefault), "cudaMemcpy", 0);
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", 0);
  for (const std::size_t offset : {0, 1, 4, 8, 13})
    for (const std::size_t count : {1, 7, 8, 9, 63, 64, 4000, 4987}) {
      check(cudaMemsetAsync(sum.data(), 0, sizeof(std::uint64_t), stream.get()), "memset", 0);
      check(cuda::launch_checksum(data.data() + offset, count,
                                  reinterpret_cast<std::uint64_t*>(sum.data()), stream.get()),
            "kernel launch", 0);
      check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize", 0);
      std::uint64_t found = 0;
      check(cudaMemcpy(&found, sum.data(), sizeof(found), cudaMemcpyDefault), "cudaMemcpy", 0);
      EXPECT_EQ(found, checksum_of(bytes.data() + offset, count)) << offset << ", " << count;
    }
}

TEST_F(CudaChecksum, EveryCopyBetweenDevicesThatIsSpoiledIsToldToAllRanks) {
  if (!Control::present()) GTEST_SKIP() << "needs planted faults";
  for (const char* spec : {"ring", "ring:slices=3", "two_shot:transfer=push", "double_tree"}) {
    std::uint64_t n = 0;
    for (bool found = true; found;) {
      std::atomic<int> told{0};
      ++n;
      World::cuda({0, 1, 2}).run([&](Communicator& comm) {
        const DeviceFloats data(300, 1.0F);
        if (comm.rank() == 0) Control::spoil_peer_copy(n);
        comm.barrier();
        const auto outcome = outcome_of([&] { all_reduce(comm, data, {.algorithm = spec}); });
        if (!outcome.code) {
          EXPECT_EQ(data.get(), std::vector<float>(300, 3.0F)) << spec << ", copy " << n;
          return;
        }
        EXPECT_EQ(outcome.code, ErrorCode::corrupted) << outcome.what;
        EXPECT_EQ(outcome.rank, comm.rank());
        EXPECT_TRUE(outcome.peer) << outcome.what;
        ++told;
      });
      EXPECT_TRUE(told == 0 || told == 3) << spec << ", copy " << n;
      found = told > 0;
    }
    Control::spoil_peer_copy(0);
    EXPECT_GT(n, 3u) << spec;
  }
}

TEST_F(CudaChecksum, ACallInAStreamIsCompleteWhenItReturns) {
  for (const bool spoiled : {false, true}) {
    if (spoiled && !Control::present()) continue;
    const std::vector<int> devices = spoiled ? std::vector{0, 1, 2} : three_ranks;
    World::cuda(devices).run([&](Communicator& comm) {
      const DeviceFloats data(3000, 1.0F);
      const auto stream = Stream::on(current_device());
      if (comm.rank() == 0 && spoiled) Control::spoil_peer_copy(1);
      comm.barrier();
      const auto outcome = outcome_of([&] { all_reduce(comm, data, {.stream = stream.get()}); });
      EXPECT_EQ(outcome.code.has_value(), spoiled) << outcome.what;
      if (spoiled) return;
      EXPECT_EQ(data.get(), std::vector<float>(3000, 3.0F));
    });
  }
}

TEST_F(CudaChecksum, CallsOfEveryKindFollowOneAnother) {
  World::cuda(three_ranks).run([&](Communicator& comm) {
    auto part = comm.split(comm.rank() % 2, comm.rank());
    for (int i = 0; i < 5; ++i) {
      const DeviceFloats data(1000, 1.0F), own(10, 1.0F);
      all_reduce(comm, data);
      comm.barrier();
      all_reduce(*part, own);
      all_reduce(comm, data);
      EXPECT_EQ(data.get(), std::vector<float>(1000, 9.0F));
      EXPECT_EQ(own.get().front(), static_cast<float>(part->size()));
    }
  });
}

TEST_F(CudaChecksum, InACaptureACallIsRefused) {
  World::cuda({0}).run([&](Communicator& comm) {
    const DeviceFloats data(100, 1.0F);
    const auto stream = Stream::on(0);
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeRelaxed), "capture", 0);
    const auto refused = outcome_of([&] { all_reduce(comm, data, {.stream = stream.get()}); });
    EXPECT_EQ(refused.code, ErrorCode::unsupported) << refused.what;
    EXPECT_TRUE(refused.says("checksum")) << refused.what;
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream.get(), &graph), "cudaStreamEndCapture", 0);
    check(cudaGraphDestroy(graph), "cudaGraphDestroy", 0);
    all_reduce(comm, data);
  });
}

}  // namespace
}  // namespace ringside::tests
