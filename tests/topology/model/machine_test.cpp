// SPDX-License-Identifier: MIT
/// The machine against published facts.
#include "ringside/topology/model/machine.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "machines.hpp"
#include "ringside/base/error.hpp"
#include "ringside/topology/model/identify.hpp"
#include "ringside/topology/presets/box.hpp"
#include "ringside/topology/presets/presets.hpp"

namespace ringside::tests {
namespace {

TEST(Machine, EveryPresetGivesWaysBetweenAllItsGpus) {
  for (const auto& preset : presets()) {
    const bool takes_number = preset.name.ends_with("=N");
    const auto topology = make_preset(takes_number ? "fat-tree:boxes=2" : preset.name);
    const auto machine = machine_of(*topology);
    EXPECT_EQ(machine.gpus(), static_cast<int>(topology->gpus().size()));
    for (int a = 0; a < machine.gpus(); ++a)
      for (int b = 0; b < machine.gpus(); ++b)
        for (const auto mover : {Mover::kernel, Mover::copy_engine}) {
          EXPECT_GE(machine.read({.gpu = a}, b, mover).uses.size(), 1U) << preset.name;
          EXPECT_EQ(machine.write(a, {.gpu = b}, mover).latency == 0, a == b) << preset.name;
          EXPECT_GE(machine.write(a, {.gpu = b, .host = true}, mover).uses.size(), 1U);
        }
  }
}

/// Of a route's bytes each link carries all; only NICs that a GPU has to itself share them.
TEST(Machine, NoFlowIsFasterThanTheLinksItTakes) {
  for (const auto* name : {"8gpu-two-sockets", "dgx1v", "dgx-h100", "fat-tree:boxes=2"}) {
    const auto machine = machine_of(*make_preset(name));
    for (const auto mover : {Mover::kernel, Mover::copy_engine})
      for (int b = 1; b < machine.gpus(); ++b)
        for (const auto& use : machine.read({.gpu = 0}, b, mover).uses)
          EXPECT_GE(use.weight, 1)
              << name << " " << machine.resources()[static_cast<std::size_t>(use.resource)].name;
  }
}

TEST(Machine, BytesOfAnyWayAddUpAtItsEnds) {
  const auto machine = machine_of(*make_preset("fat-tree:boxes=2"));
  double leaves = 0;
  for (const auto& use : machine.write(0, {.gpu = 8}, Mover::copy_engine).uses)
    if (const auto link = machine.link_of(use.resource))
      if (machine.topology().link(*link).from == machine.topology().gpus()[0]) leaves += use.weight;
  EXPECT_DOUBLE_EQ(leaves, 1);
}

TEST(Machine, GpusEquallyNearToSeveralNicsTakeOneEach) {
  const auto machine = machine_of(*make_preset("fat-tree:boxes=2"));
  std::set<ResourceId> cables;
  for (int gpu = 0; gpu < 8; ++gpu)
    for (const auto& use : machine.write(gpu, {.gpu = gpu + 8}, Mover::kernel).uses)
      if (const auto link = machine.link_of(use.resource);
          link && machine.topology().link(*link).kind == LinkKind::network)
        cables.insert(use.resource);
  EXPECT_EQ(cables.size(), 16U) << "eight NICs out, eight in";
}

TEST(Machine, WhatTheDriverForbidsGoesThroughTheHost) {
  auto topology = *make_preset("4gpu-pcie4-one-root");
  const auto gpus = topology.gpus();
  topology.peer_access.push_back(
      {.from = gpus[0], .to = gpus[1], .capability = "r", .status = "CNS"});
  const auto machine = machine_of(topology);
  EXPECT_FALSE(machine.peer_access(0, 1));
  EXPECT_TRUE(machine.peer_access(0, 2));
  EXPECT_GT(machine.read({.gpu = 1}, 0, Mover::copy_engine).latency,
            machine.read({.gpu = 2}, 0, Mover::copy_engine).latency);
}

TEST(Machine, NvlinkNeedsNoPeerAccessOverPcie) {
  const auto machine = machine_of(*make_preset("4gpu-nvlink-pairs"), {.peer_access = false});
  EXPECT_TRUE(machine.peer_access(0, 1));
  EXPECT_FALSE(machine.peer_access(0, 2));
}

TEST(Machine, ABandwidthThatTheTopologyStatesCounts) {
  const auto machine = machine_of(*make_preset("8gpu-two-sockets"));
  EXPECT_NEAR(transfer_rate(machine, copies({{0, 1}})), 24 * 0.833, 0.01)
      << "through an Intel root";
  EXPECT_NEAR(transfer_rate(machine, copies({{0, 4}})), 10, 1e-5);
}

TEST(Machine, ProcessorsAreKnownByNumbersOrByName) {
  const auto named = [](const char* name) {
    Topology topology;
    Box box(topology);
    const NodeId numa = box.numa(0);
    topology.node(numa).details["processor"] = name;
    return processor_of(topology, numa);
  };
  EXPECT_EQ(named("AMD EPYC 7502 32-Core Processor"), "amd-zen2");
  EXPECT_EQ(named("AMD EPYC 7763 64-Core Processor"), "amd-zen3");
  EXPECT_EQ(named("AMD EPYC 9124 16-Core Processor"), "amd-zen4");
  EXPECT_EQ(named("AMD EPYC 9575F 64-Core Processor"), "amd-zen5");
  EXPECT_EQ(named("AMD Ryzen Threadripper PRO 5965WX 24-Cores"), "amd-zen3");
  EXPECT_EQ(named("Intel(R) Xeon(R) CPU E5-2698 v4 @ 2.20GHz"), "intel-broadwell");
  EXPECT_EQ(named("Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz"), "intel-skylake");
  EXPECT_EQ(named("Intel(R) Xeon(R) Platinum 8358 CPU @ 2.60GHz"), "intel-icelake");
  EXPECT_EQ(named("Intel(R) Xeon(R) Platinum 8480+"), "intel-sapphire-rapids");
  EXPECT_EQ(named("Some new thing"), "");
  const auto numbered = direct_box(1, 1, 4, 143, 49);
  EXPECT_EQ(processor_of(numbered, numbered.gpus()[0]), "amd-zen2");
}

TEST(Machine, QuartersOfAProcessorAreNoSockets) {
  auto quarters = direct_box(2, 1, 5, 175, 17);
  const double apart = transfer_rate(machine_of(quarters), copies({{0, 1}}));
  for (const NodeId numa : quarters.of_kind(NodeKind::numa_node))
    quarters.node(numa).details["package"] = "0";
  EXPECT_GT(transfer_rate(machine_of(quarters), copies({{0, 1}})), 1.2 * apart);
}

TEST(Machine, AGpuWithSeveralNicsSpreadsItsDataOverThem) {
  Topology topology;
  Node network;
  network.kind = NodeKind::network_switch;
  network.name = "network";
  const NodeId middle = topology.add(std::move(network));
  for (int i = 0; i < 2; ++i) {
    Box box(topology, i);
    const Slot slot{.generation = 5, .width = 16};
    const NodeId chip = box.pcie_switch(box.bridge(box.numa(0)), slot);
    box.gpu(chip, slot, {.name = "H100", .compute_capability = 90});
    for (int j = 0; j < 4; ++j) {
      Link cable;
      cable.from = box.nic(chip, slot, 100'000);
      cable.to = middle;
      cable.kind = LinkKind::network;
      topology.connect(cable);
    }
  }
  const auto machine = machine_of(std::move(topology));
  EXPECT_NEAR(transfer_rate(machine, copies({{0, 1}})), 4 * 12.5 * 0.95, 0.1)
      << "the speed of the NICs themselves, as no cable states one";
}

TEST(Machine, ANicFarFromTheGpuTakesDataFromTheHost) {
  const auto box_pair = [](bool far) {
    Topology topology;
    Node network;
    network.kind = NodeKind::network_switch;
    network.name = "network";
    const NodeId middle = topology.add(std::move(network));
    for (int i = 0; i < 2; ++i) {
      Box box(topology, i);
      const Slot slot{.generation = 4, .width = 16};
      const NodeId numa = box.numa(0);
      const NodeId chip = box.pcie_switch(box.bridge(numa), slot);
      box.gpu(chip, slot, {.name = "A100", .compute_capability = 80});
      Link cable;
      cable.from = box.nic(far ? box.bridge(numa) : chip, slot, 200'000);
      cable.to = middle;
      cable.kind = LinkKind::network;
      topology.connect(cable);
    }
    return machine_of(std::move(topology));
  };
  EXPECT_NEAR(transfer_rate(box_pair(false), both_ways(0, 1)), 2 * 25 * 0.95, 0.5);
  EXPECT_LT(transfer_rate(box_pair(true), both_ways(0, 1)), 2 * 20);
}

TEST(Machine, GpusWithoutAWayAreTold) {
  Topology topology;
  Box first(topology, 0), second(topology, 1);
  const Slot slot{.generation = 4, .width = 16};
  const GpuModel card{.name = "RTX 4090"};
  first.gpu(first.bridge(first.numa(0)), slot, card);
  second.gpu(second.bridge(second.numa(0)), slot, card);
  EXPECT_THROW(machine_of(topology), Error);
}

/// It took minutes while finding NICs and processors searched the whole machine for each.
TEST(Machine, ALargeOneIsMadeInTimeProportionalToItsSize) {
  const auto topology = *make_preset("fat-tree:boxes=256");
  const auto begun = std::chrono::steady_clock::now();
  const auto machine = machine_of(topology);
  for (int gpu = 0; gpu < machine.gpus(); ++gpu)
    (void)machine.read({.gpu = gpu}, (gpu + 1) % machine.gpus(), Mover::kernel);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  EXPECT_LT(took.count(), 10);
}

TEST(Machine, AGpuThatIsNotThereIsTold) {
  const auto machine = machine_of(*make_preset("dgx1v"));
  EXPECT_THROW((void)machine.read({.gpu = 8}, 0, Mover::kernel), Error);
  EXPECT_THROW((void)machine.write(-1, {.gpu = 0}, Mover::kernel), Error);
}

TEST(Machine, CapacitiesAreTheLinksAtTheirBest) {
  const auto machine = machine_of(*make_preset("dgx-a100"));
  const auto graph = machine.capacities();
  EXPECT_EQ(graph.compute.size(), 8U);
  EXPECT_EQ(graph.arcs.size(), machine.topology().links().size());
  for (std::size_t i = 0; i < graph.arcs.size(); ++i)
    EXPECT_EQ(graph.arcs[i].capacity, machine.resources()[i].capacity);
}

}  // namespace
}  // namespace ringside::tests
