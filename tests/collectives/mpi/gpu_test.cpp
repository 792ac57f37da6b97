// SPDX-License-Identifier: MIT
/// Ranks that are processes with a GPU each, or several on one: bits of the reference interpreter
/// from memory that others open and from memory that they do not, through the host where GPUs do
/// not reach each other, and what a user sees beyond right results.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ringside/base/options.hpp"
#include "ringside/collectives/communicator.hpp"
#include "ringside/collectives/group.hpp"
#include "ringside/tests/collectives/cuda/gpu_test.hpp"
#include "ringside/tests/collectives/host/calls_to_try.hpp"
#include "ringside/tests/collectives/mpi/conformance.hpp"
#include "ringside/tests/collectives/mpi/mpi_main.hpp"

namespace ringside::tests {
namespace {

/// Two ranks on every GPU but the last, which has the rest.
World gpu_world() {
  int count = 0;
  cuda::check(cudaGetDeviceCount(&count), "cudaGetDeviceCount", 0);
  return World::mpi(mpi_rank() / 2 % count);
}

void copy(void* to, const void* from, std::size_t bytes) {
  cuda::check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy", 0);
  cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", 0);
}

/// Memory of the rank's GPU, which others open or do not.
CallMemory on_gpu(Communicator& comm, std::size_t bytes, bool shared) {
  CallMemory memory;
  memory.copy = copy;
  if (shared) {
    auto owner = std::make_shared<SharedMemory>(comm.shared_memory(bytes));
    memory.data = owner->bytes().data();
    memory.owner = std::move(owner);
  } else {
    auto owner =
        std::make_shared<cuda::DeviceMemory>(cuda::DeviceMemory::on(current_device(), bytes));
    memory.data = owner->data();
    memory.owner = std::move(owner);
  }
  return memory;
}

enum class Buffers { are_private, are_shared, differ };

void run_calls(const std::vector<TriedCall>& calls, Buffers buffers) {
  World world = gpu_world();
  run_calls(world, calls, [&](Communicator& comm, const TriedCall& call, std::size_t bytes) {
    return on_gpu(comm, bytes,
                  buffers == Buffers::are_shared ||
                      (buffers == Buffers::differ && (call.seed + mpi_rank()) % 3 != 0));
  });
}

/// Two and three ranks are for every day.
std::size_t share() { return mpi_world().size() <= 3 ? 6 : 1; }

/// After each test on the double: nothing misused, nothing left.
class MpiGpus : public testing::Test {
 protected:
  void TearDown() override { expect_nothing_left(); }
  ScopedOption plans_only_{"mpi_inline", "0"};
};

TEST_F(MpiGpus, EveryAlgorithmFromMemoryThatOthersOpen) {
  run_calls(some_calls(share(), true), Buffers::are_shared);
}

TEST_F(MpiGpus, EveryAlgorithmFromOtherMemory) {
  run_calls(some_calls(share(), true), Buffers::are_private);
}

TEST_F(MpiGpus, RanksMayDifferInWhetherOthersOpenTheirs) {
  run_calls(some_calls(2 * share(), false), Buffers::differ);
}

TEST_F(MpiGpus, ThroughTheHostWhereGpusDoNotReachEachOther) {
  const ScopedOption none("cuda_p2p", "none");
  run_calls(some_calls(share(), true), Buffers::are_private);
  run_calls(some_calls(2 * share(), true), Buffers::are_shared);
}

TEST_F(MpiGpus, ByCopiesWhereKernelsDoNotReachOthers) {
  const ScopedOption copies("cuda_p2p", "copy");
  run_calls(some_calls(share(), true), Buffers::are_shared);
}

TEST_F(MpiGpus, MessagesThatTravelInTheCall) {
  const ScopedOption usual("mpi_inline", "8K");
  run_calls(some_calls(share(), false), Buffers::are_private);
}

std::vector<float> of_rank(Communicator& comm, std::size_t count) {
  return std::vector<float>(count, static_cast<float>(comm.rank() + 1));
}

TEST_F(MpiGpus, MemoryOfTheHostIsReducedAsEver) {
  gpu_world().run([](Communicator& comm) {
    auto data = of_rank(comm, 30'000);
    comm.all_reduce(std::span(data));
    EXPECT_EQ(data, std::vector<float>(data.size(), sum_of_ranks(comm.size())));
  });
}

TEST_F(MpiGpus, HostMemoryHereAndGpuMemoryThereIsRefusedByAllAndTheCommunicatorWorksOn) {
  if (mpi_world().size() < 2) GTEST_SKIP();
  gpu_world().run([](Communicator& comm) {
    DeviceFloats on_gpu(30'000, 1.0F);
    std::vector<float> at_host(on_gpu.size(), 1.0F);
    const auto call = [&] {
      comm.all_reduce(comm.rank() == 1 ? on_gpu.span() : std::span(at_host));
    };
    EXPECT_EQ(code_of(call), ErrorCode::mismatch);
    EXPECT_EQ(on_gpu.get(), std::vector<float>(on_gpu.size(), 1.0F));
    EXPECT_EQ(at_host, std::vector<float>(on_gpu.size(), 1.0F));
    all_reduce(comm, on_gpu);
    EXPECT_EQ(on_gpu.get().back(), static_cast<float>(comm.size()));
  });
}

TEST_F(MpiGpus, GpuMemoryIsRefusedWhereNotAllRanksHaveAGpu) {
  if (mpi_world().size() < 2) GTEST_SKIP();
  std::optional<int> device;
  if (mpi_rank() > 0) device = 0;
  World::mpi(device).run([](Communicator& comm) {
    auto data = of_rank(comm, 30'000);
    if (comm.rank() == 0) {
      EXPECT_EQ(code_of([&] { comm.all_reduce(std::span(data)); }), ErrorCode::mismatch);
    } else {
      DeviceFloats on_gpu(data.size());
      EXPECT_EQ(code_of([&] { all_reduce(comm, on_gpu); }), ErrorCode::mismatch);
    }
    comm.all_reduce(std::span(data));
    EXPECT_EQ(data.back(), sum_of_ranks(comm.size()));
  });
}

TEST_F(MpiGpus, ACallWithAStreamWaitsForIt) {
  gpu_world().run([](Communicator& comm) {
    const auto stream = cuda::Stream::on(current_device());
    auto pinned = cuda::PinnedMemory::of(30'000 * sizeof(float));
    DeviceFloats data(30'000);
    const auto values = of_rank(comm, data.size());
    for (int round = 0; round < 5; ++round) {
      if (fakecuda::Control::present())
        fakecuda::Control::host_writes(pinned.data(), pinned.size());
      std::memcpy(pinned.data(), values.data(), pinned.size());
      cuda::check(cudaMemcpyAsync(data.data(), pinned.data(), pinned.size(), cudaMemcpyDefault,
                                  stream.get()),
                  "cudaMemcpyAsync", 0);
      all_reduce(comm, data, {.stream = stream.get()});
      EXPECT_EQ(data.get(), std::vector<float>(data.size(), sum_of_ranks(comm.size())));
    }
  });
}

TEST_F(MpiGpus, MemoryThatWasGivenBackIsNotTakenForWhatIsThereNow) {
  gpu_world().run([](Communicator& comm) {
    for (int round = 0; round < 6; ++round) {
      const std::size_t count = 10'000 + static_cast<std::size_t>(round % 2) * 600'000;
      auto memory = comm.shared_memory(count * sizeof(float));
      const auto values = of_rank(comm, count);
      copy(memory.bytes().data(), values.data(), count * sizeof(float));
      comm.all_reduce(memory.as<float>().data(), memory.as<float>().data(), count,
                      ElementType::float32, ReduceOp::sum, {.algorithm = "ring"});
      std::vector<float> got(count);
      copy(got.data(), memory.bytes().data(), count * sizeof(float));
      EXPECT_EQ(got, std::vector<float>(count, sum_of_ranks(comm.size())));
    }
  });
}

TEST_F(MpiGpus, MessagesPartsAndAsynchronousCallsTakeMemoryOfGpus) {
  if (mpi_world().size() < 2) GTEST_SKIP();
  gpu_world().run([](Communicator& comm) {
    DeviceFloats out(50'000, static_cast<float>(comm.rank())), in(50'000, -1.0F);
    const int next = (comm.rank() + 1) % comm.size();
    const int before = (comm.rank() + comm.size() - 1) % comm.size();
    grouped([&] {
      comm.send(out.data(), out.size(), ElementType::float32, next);
      comm.recv(in.data(), in.size(), ElementType::float32, before);
    });
    EXPECT_EQ(in.get(), std::vector<float>(in.size(), static_cast<float>(before)));

    auto part = comm.split(comm.rank() % 2);
    DeviceFloats data(20'000, 1.0F);
    all_reduce(*part, data);
    EXPECT_EQ(data.get().back(), static_cast<float>(part->size()));

    data.set(1.0F);
    auto handle = comm.async().all_reduce(data.span());
    handle.wait();
    EXPECT_EQ(data.get().back(), static_cast<float>(comm.size()));
  });
}

TEST_F(MpiGpus, AnExplanationSaysWhichGpusDoNotReachEachOther) {
  if (mpi_world().size() < 2) GTEST_SKIP();
  const auto words = [] {
    std::string text;
    gpu_world().run([&](Communicator& comm) {
      text = comm.explain(Collective::all_reduce, 1 << 20, false, {.algorithm = "ring"});
    });
    return text;
  };
  const std::string said = "do not reach each other's memory";
  EXPECT_EQ(words().find(said), std::string::npos);
  const ScopedOption none("cuda_p2p", "none");
  EXPECT_NE(words().find(said), std::string::npos);
}

TEST_F(MpiGpus, AGpuThatDoesNotExistIsToldToAllRanks) {
  const auto code = code_of([] { (void)World::mpi(mpi_rank() == 0 ? 1000 : 0); });
  EXPECT_EQ(code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace ringside::tests
