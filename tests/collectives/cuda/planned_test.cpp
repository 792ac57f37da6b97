// SPDX-License-Identifier: MIT
/// `auto` on GPUs with the option `topology`: what is predicted is what runs, on all ranks.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ringside/base/options.hpp"
#include "ringside/collectives/selector/planned_machine.hpp"
#include "ringside/collectives/world.hpp"
#include "ringside/tests/collectives/cuda/gpu_test.hpp"
#include "ringside/tests/fakecuda/control.hpp"
#include "ringside/tests/support/outcome.hpp"

namespace ringside::tests {
namespace {

constexpr std::size_t elements = std::size_t{1} << 20;
constexpr std::size_t bytes = elements * sizeof(float);

class PlannedGpus : public GpuTest {};

TEST_F(PlannedGpus, AutoRunsThePredictedChoice) {
  const ScopedOption option("topology", "4gpu-pcie4-two-sockets");
  const std::vector<int> devices = {0, 1, 2, 3};
  const Request request{Collective::all_reduce, 4, 0, true};
  const std::string predicted = planned_machine()->choose(devices, request, bytes).spec;
  EXPECT_TRUE(predicted.starts_with("hierarchical")) << predicted;
  World::cuda(devices).run([&](Communicator& comm) {
    EXPECT_EQ(comm.algorithm_for(Collective::all_reduce, bytes, true), predicted);
    DeviceFloats data(elements, static_cast<float>(comm.rank() + 1));
    all_reduce(comm, data);
    EXPECT_EQ(data.get(), std::vector<float>(elements, 10.0F));
  });
}

TEST_F(PlannedGpus, PartsOfASplitAreChosenForByTheirOwnGpus) {
  const ScopedOption option("topology", "4gpu-pcie4-two-sockets");
  World::cuda({0, 1, 2, 3}).run([&](Communicator& comm) {
    auto part = comm.split(comm.rank() % 2, comm.rank());
    const std::vector<int> gpus = {comm.rank() % 2, comm.rank() % 2 + 2};
    const Request request{Collective::all_reduce, 2, 0, true};
    EXPECT_EQ(part->algorithm_for(Collective::all_reduce, bytes, true),
              planned_machine()->choose(gpus, request, bytes).spec);
  });
}

TEST_F(PlannedGpus, AMachineThatIsTooSmallIsToldToAllRanks) {
  fakecuda::Control::reset({.devices = 5});
  const ScopedOption option("topology", "4gpu-pcie4-two-sockets");
  const auto result = outcome_of([] { World::cuda({0, 1, 2, 3, 4}).run([](Communicator&) {}); });
  EXPECT_TRUE(result.says("4 GPUs")) << result.what;
}

TEST_F(PlannedGpus, AMachineThatIsNoneIsToldWhenTheWorldIsMade) {
  const ScopedOption option("topology", "no-such-box");
  EXPECT_THROW((void)World::cuda({0, 1}), Error);
}

}  // namespace
}  // namespace ringside::tests
