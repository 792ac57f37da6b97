// SPDX-License-Identifier: MIT
/// The machine model against what people measured: each test names its source. Tolerances are what
/// the model is good for, not what would just pass.
#include <gtest/gtest.h>

#include "machines.hpp"
#include "ringside/topology/presets/box.hpp"
#include "ringside/topology/presets/presets.hpp"

namespace ringside::tests {
namespace {

constexpr double giga = 1e9;
constexpr int zen2_family = 143, zen2_model = 49, zen4_family = 175, zen4_model = 17,
              zen5_family = 191, zen5_model = 2;

/// `measured` in GB/s within `part` of it.
void expect_near(double rate, double measured, double part) {
  EXPECT_NEAR(rate, measured, part * measured);
}

// voipmonitor/rtx6kpro: two Microchip switches on a Threadripper, 8 RTX PRO 6000.

TEST(Facts, ACopyOnASwitchTakesTheWholeLink) {
  const auto machine = machine_of(switched_box(2, 4, 5));
  expect_near(transfer_rate(machine, copies({{0, 1}})), 56.3, 0.02);
  expect_near(transfer_rate(machine, copies({{0, 4}})), 56.3, 0.02);
}

TEST(Facts, FlowsThatShareAnUplinkShareItsRate) {
  const auto machine = machine_of(switched_box(2, 4, 5));
  expect_near(transfer_rate(machine, copies({{0, 4}, {1, 5}})), 56.4, 0.02);
  expect_near(transfer_rate(machine, copies({{0, 4}, {1, 5}, {2, 6}, {3, 7}})), 56.4, 0.02);
}

TEST(Facts, BothWaysIsNotQuiteTwice) {
  const auto machine = machine_of(switched_box(2, 4, 5));
  expect_near(transfer_rate(machine, both_ways(0, 1)), 109.3, 0.02);
  expect_near(transfer_rate(machine, both_ways(0, 4)), 109.3, 0.02);
}

TEST(Facts, DenseExchangesFallShortOfTheLinks) {
  const auto four = machine_of(switched_box(1, 4, 5));
  expect_near(transfer_rate(four, all_to_all(4)), 163.6, 0.05);
  const auto eight = machine_of(switched_box(2, 4, 5));
  expect_near(transfer_rate(eight, all_to_all(8)), 179.0, 0.05);
}

TEST(Facts, AcsHalvesWhatGoesBothWaysOnASwitch) {
  const auto machine = machine_of(switched_box(2, 4, 5), {.acs_redirect = true});
  expect_near(transfer_rate(machine, both_ways(0, 1)), 50, 0.12);
  EXPECT_LT(transfer_rate(machine, both_ways(0, 1)),
            0.6 * transfer_rate(machine_of(switched_box(2, 4, 5)), both_ways(0, 1)));
}

TEST(Facts, PostedWritesCollapseWhenTwoLeaveASwitchForOtherRoots) {
  const auto machine = machine_of(switched_box(4, 2, 5, "0x1000"), {.write_collapse = true});
  const double one = transfer_rate(machine, copies({{0, 2}}));
  EXPECT_GE(one, 37);
  expect_near(transfer_rate(machine, copies({{0, 2}, {1, 4}})), 2.7, 0.6);
  auto reads = copies({{0, 2}, {1, 4}});
  for (auto& each : reads) each.reads = true;
  EXPECT_GT(transfer_rate(machine, reads), 0.9 * one) << "reads are unaffected";
}

TEST(Facts, ReadsFromSocketToSocketBelowBroadcomSwitches) {
  Topology topology;
  Box box(topology);
  const Slot slot{.generation = 5, .width = 16};
  std::vector<NodeId> sockets{box.numa(0), box.numa(1)};
  for (const NodeId socket : sockets) {
    auto& details = topology.node(socket).details;
    details["vendor"] = "AuthenticAMD";
    details["familyid"] = std::to_string(zen5_family);
    details["modelid"] = std::to_string(zen5_model);
    for (int i = 0; i < 2; ++i) {
      const NodeId chip = box.pcie_switch(box.bridge(socket), slot);
      topology.node(chip).details["vendor"] = "0x1000";
      for (int j = 0; j < 2; ++j) box.gpu(chip, slot, {.name = "RTX PRO 6000"});
    }
  }
  box.sockets(sockets);
  const auto machine = machine_of(std::move(topology));
  auto across = copies({{0, 4}});
  expect_near(transfer_rate(machine, across), 50, 0.03);
  across[0].reads = true;
  expect_near(transfer_rate(machine, across), 38, 0.02);
  expect_near(transfer_rate(machine, copies({{0, 2}})), 54.7, 0.04);
  expect_near(transfer_rate(machine, both_ways(0, 2)), 103, 0.08);
  expect_near(transfer_rate(machine, both_ways(0, 4)), 94.5, 0.06);
}

TEST(Facts, HostMemoryIsReadByOneQuadrantOrTwo) {
  const auto read_all = [](const Machine& machine) {
    std::vector<Transfer> transfers;
    for (int i = 0; i < machine.gpus(); ++i)
      transfers.push_back({.from = {.gpu = i, .host = true}, .to = {.gpu = i}, .reads = true});
    return transfer_rate(machine, transfers);
  };
  expect_near(read_all(machine_of(switched_box(2, 4, 5))), 114, 0.03);
  Topology one;
  {
    one = direct_box(1, 4, 5, zen5_family, zen5_model);
    // All four below one host bridge.
    const auto bridges = one.of_kind(NodeKind::host_bridge);
    Topology moved;
    for (const auto& node : one.nodes())
      if (node.kind != NodeKind::host_bridge || node.name == one.node(bridges[0]).name)
        moved.add(node);
    for (LinkId id = 0; id < static_cast<LinkId>(one.links().size()); id += 2) {
      Link link = one.link(id);
      const auto& from = one.node(link.from);
      if (from.kind == NodeKind::host_bridge && !moved.find(from.name)) continue;
      link.to = *moved.find(from.kind == NodeKind::gpu ? one.node(bridges[0]).name
                                                       : one.node(link.to).name);
      link.from = *moved.find(from.name);
      moved.connect(link);
    }
    one = std::move(moved);
  }
  expect_near(read_all(machine_of(std::move(one))), 73, 0.02);
}

// voipmonitor/rtx6kpro: boxes with two EPYC and no switches.

TEST(Facts, SocketsOfEpyc9124) {
  const auto machine = machine_of(direct_box(2, 4, 5, zen4_family, zen4_model));
  expect_near(transfer_rate(machine, copies({{0, 1}})), 57.2, 0.03);
  expect_near(transfer_rate(machine, both_ways(0, 1)), 112.3, 0.03);
  expect_near(transfer_rate(machine, copies({{0, 4}})), 43, 0.04);
  expect_near(transfer_rate(machine, both_ways(0, 4)), 82, 0.08);
}

TEST(Facts, SocketsOfEpycTurin) {
  const auto machine = machine_of(direct_box(2, 3, 5, zen5_family, zen5_model));
  expect_near(transfer_rate(machine, copies({{0, 3}})), 51, 0.03);
  expect_near(transfer_rate(machine, both_ways(0, 3)), 99, 0.03);
}

// PCIe 4.0: nvbandwidth's README, tinygrad/open-gpu-kernel-modules#6, NVIDIA/nccl#814.

TEST(Facts, HostMemoryBothWaysOnPcie4) {
  const auto machine = machine_of(direct_box(1, 4, 4, zen2_family, zen2_model));
  const Transfer down{.from = {.gpu = 0, .host = true}, .to = {.gpu = 0}, .reads = true};
  const Transfer up{.from = {.gpu = 0}, .to = {.gpu = 0, .host = true}};
  expect_near(transfer_rate(machine, std::vector{up, down}) / 2, 18.6, 0.05);
}

TEST(Facts, WithoutPeerAccessCopiesGoThroughTheHost) {
  const auto machine =
      machine_of(direct_box(1, 4, 4, zen4_family, zen4_model), {.peer_access = false});
  expect_near(transfer_rate(machine, copies({{0, 1}})), 20, 0.1);
  expect_near(transfer_rate(machine, both_ways(0, 1)), 26, 0.1);
  const auto with = machine_of(direct_box(1, 4, 4, zen4_family, zen4_model));
  expect_near(transfer_rate(with, both_ways(0, 1)), 51, 0.03);
}

TEST(Facts, WithoutPeerAccessNeighboursOnASwitchSufferMost) {
  const auto machine = machine_of(switched_box(2, 2, 4), {.peer_access = false});
  EXPECT_LT(transfer_rate(machine, both_ways(0, 1)), 0.6 * transfer_rate(machine, both_ways(0, 2)));
  EXPECT_LT(transfer_rate(machine, both_ways(0, 1)), 21);
}

TEST(Facts, ANarrowSlotIsSlowWithEveryPeer) {
  const auto topology = make_preset("4gpu-pcie4-x4-slot");
  const auto machine = machine_of(*topology);
  for (int peer = 0; peer < 3; ++peer) {
    expect_near(transfer_rate(machine, copies({{3, peer}})), 26.0 / 4, 0.01);
    expect_near(transfer_rate(machine, copies({{peer, 3}})), 26.0 / 4, 0.01);
  }
}

// NVLink: nvbandwidth's README, stas00/ml-engineering.

TEST(Facts, NvlinkByCopyEngine) {
  expect_near(transfer_rate(machine_of(*make_preset("dgx-a100")), copies({{0, 5}})), 276, 0.02);
  expect_near(transfer_rate(machine_of(*make_preset("dgx-h100")), copies({{0, 5}})), 376, 0.02);
  expect_near(transfer_rate(machine_of(*make_preset("dgx1v")), copies({{0, 3}})), 47.9, 0.02);
}

TEST(Facts, AFoldReadsTwiceAndStoresOnce) {
  const auto machine = machine_of(*make_preset("dgx-h100"));
  const auto& in = machine.read({.gpu = 0}, 0, Mover::kernel);
  ASSERT_EQ(in.uses.size(), 1U);
  const double memory = machine.resources()[static_cast<std::size_t>(in.uses[0].resource)].capacity;
  EXPECT_NEAR(memory, 0.83 * 3350 * giga, 1) << "H100: 3.35 TB/s, of which 0.83 is reached";
}

}  // namespace
}  // namespace ringside::tests
