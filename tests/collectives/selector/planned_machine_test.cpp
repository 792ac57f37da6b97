// SPDX-License-Identifier: MIT
/// The machine of the option `topology`.
#include "ringside/collectives/selector/planned_machine.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "preset_machines.hpp"
#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"

namespace ringside::tests {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

TEST(PlannedMachine, IsNoneWhereTheOptionIsEmpty) { EXPECT_EQ(planned_machine(), nullptr); }

TEST(PlannedMachine, IsReadOncePerProcess) {
  const ScopedOption option("topology", "4gpu-pcie4-two-sockets");
  const auto machine = planned_machine();
  ASSERT_NE(machine, nullptr);
  EXPECT_EQ(planned_machine(), machine);
}

TEST(PlannedMachine, ThatIsNoneIsToldInOneLine) {
  for (const auto* name : {"4gpu-pcie4-two-sokets", "/does/not/exist"}) {
    const ScopedOption option("topology", name);
    EXPECT_THROW((void)planned_machine(), Error) << name;
  }
}

TEST(PlannedMachine, ChoosesAsThePredictorDoesAndSaysWhy) {
  const std::string name = "4gpu-pcie4-two-sockets";
  PlannedMachine planned(name, *make_preset(name), false);
  const Machine machine = machine_of(name);
  const Choice choice = planned.choose({0, 1, 2, 3}, {Collective::all_reduce, 4}, 64 * mib);
  EXPECT_EQ(choice.spec, Predictor(machine).choose(all_reduce_of(machine, 64 * mib)).spec);
  EXPECT_NE(choice.why.find(name), std::string::npos);
  EXPECT_NE(choice.why.find("simulated"), std::string::npos);
}

TEST(PlannedMachine, TakesSizesAsTheNearestPowerOfTwo) {
  PlannedMachine planned("box", *make_preset("4gpu-pcie4-two-sockets"), false);
  const auto spec = [&](std::uint64_t bytes) {
    return planned.choose({0, 1, 2, 3}, {Collective::all_reduce, 4}, bytes).why;
  };
  EXPECT_EQ(spec(mib + mib / 4), spec(mib));
  EXPECT_EQ(spec(mib - mib / 8), spec(mib));
  EXPECT_NE(spec(mib + mib / 2), spec(mib));
  EXPECT_EQ(spec(0), spec(0));
}

TEST(PlannedMachine, AnswersAllThreadsAlike) {
  PlannedMachine planned("box", *make_preset("4gpu-nvlink-pairs"), false);
  std::vector<std::string> answers(4);
  std::vector<std::thread> threads;
  for (auto& answer : answers)
    threads.emplace_back([&planned, &answer] {
      for (const std::uint64_t bytes : {mib, 16 * mib, mib / 16})
        answer += planned.choose({0, 1, 2, 3}, {Collective::all_reduce, 4}, bytes).spec + " ";
    });
  for (auto& thread : threads) thread.join();
  for (const auto& answer : answers) EXPECT_EQ(answer, answers.front());
}

TEST(PlannedMachine, KnowsGpusByTheirAddressesWhereItIsThisMachine) {
  const Topology topology = *make_preset("dgx1v");
  std::vector<PciAddress> addresses;
  for (const NodeId gpu : topology.gpus()) addresses.push_back(*topology.node(gpu).address);
  std::swap(addresses[0], addresses[5]);
  const std::vector<int> devices = {0, 1, 5};
  const std::vector<PciAddress> of_devices = {addresses[0], addresses[1], addresses[5]};
  EXPECT_EQ(PlannedMachine("box", topology, true).gpus_of(devices, of_devices),
            (std::vector<int>{5, 1, 0}));
  EXPECT_EQ(PlannedMachine("box", topology, false).gpus_of(devices, of_devices), devices)
      << "a preset's addresses are made up";
}

TEST(PlannedMachine, WithoutADevicesGpuIsToldInOneLine) {
  PlannedMachine planned("small box", *make_preset("4gpu-pcie4-one-root"), false);
  EXPECT_THROW((void)planned.gpus_of({0, 4}, {}), Error);
}

}  // namespace
}  // namespace ringside::tests
