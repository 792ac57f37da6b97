// SPDX-License-Identifier: MIT
/// NCCL's own model against cases that were worked out by hand from its figures, and the views of
/// machines against what NCCL logs on them.
#include "ringside/collectives/selector/nccl_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ringside/base/error.hpp"
#include "ringside/topology/presets/presets.hpp"

namespace ringside::tests {
namespace {

NcclMachine seen_by_nccl(Topology topology, MachineSettings settings = {}) {
  const LinkModel model = *link_model_for(topology).model;
  return nccl_machine(Machine(std::move(topology), model, settings));
}

NcclMachine machine_of(const std::string& preset) {
  return seen_by_nccl(make_preset(preset).value());
}

NcclPrediction find(const std::vector<NcclPrediction>& all, NcclAlgorithm algorithm,
                    NcclProtocol protocol) {
  for (const auto& each : all)
    if (each.algorithm == algorithm && each.protocol == protocol) return each;
  ADD_FAILURE() << to_string(algorithm) << "/" << to_string(protocol) << " is not considered";
  return {};
}

bool considers(const std::vector<NcclPrediction>& all, NcclAlgorithm algorithm,
               NcclProtocol protocol) {
  return std::any_of(all.begin(), all.end(), [&](const auto& each) {
    return each.algorithm == algorithm && each.protocol == protocol;
  });
}

TEST(NcclGraph, GivesTheChannelsThatNcclLogsOnNvlinkMachines) {
  // "Pattern 4, nChannels 12, bw 20/20, type NVL" on a DGX A100, 12 of 30 on a DGX H100.
  EXPECT_EQ(machine_of("dgx-a100").ring, (NcclChannels{12, 20, 0}));
  EXPECT_EQ(machine_of("dgx-h100").ring, (NcclChannels{12, 30, 0}));
  const NcclChannels mesh = machine_of("dgx1v").ring;
  EXPECT_EQ(mesh.count * mesh.intra, 120) << "six links of 20 a GPU, all in rings";
  for (const char* name : {"dgx-a100", "dgx-h100", "dgx1v", "nvl72"})
    EXPECT_TRUE(machine_of(name).nvlink) << name;
}

TEST(NcclGraph, SeesPcieByGenerationAndLanes) {
  const auto ring = [](const std::string& name) {
    const NcclChannels channels = machine_of(name).ring;
    return channels.count * channels.intra;
  };
  EXPECT_EQ(ring("4gpu-pcie4-two-switches"), 24);
  EXPECT_EQ(ring("4gpu-pcie4-x4-slot"), 6);
  EXPECT_FALSE(machine_of("4gpu-pcie4-two-switches").nvlink);
}

TEST(NcclGraph, CountsOneFigureForTheSocketLinksOfAllProcessorsOfAMaker) {
  Topology topology = make_preset("8gpu-two-sockets").value();
  const auto ring_with = [&](const std::string& vendor, const std::string& model) {
    for (const NodeId id : topology.of_kind(NodeKind::numa_node)) {
      topology.node(id).details["vendor"] = vendor;
      topology.node(id).details["modelid"] = model;
    }
    const NcclChannels channels = seen_by_nccl(topology).ring;
    return channels.count * channels.intra;
  };
  EXPECT_EQ(ring_with("GenuineIntel", "79"), 6) << "Broadwell";
  EXPECT_EQ(ring_with("GenuineIntel", "85"), 10) << "Skylake";
  EXPECT_EQ(ring_with("AuthenticAMD", "1"), 15) << "16, but no speed between 15 and 18 is tried";
}

TEST(NcclGraph, TakesAFifthMoreOfPcieBehindAnIntelRoot) {
  Topology topology = make_preset("4gpu-pcie4-one-root").value();
  const auto total = [&] {
    const NcclChannels ring = seen_by_nccl(topology).ring;
    return ring.count * ring.intra;
  };
  EXPECT_EQ(total(), 24);
  for (const NodeId id : topology.of_kind(NodeKind::numa_node))
    topology.node(id).details["vendor"] = "GenuineIntel";
  EXPECT_EQ(total(), 20);
}

TEST(NcclGraph, SaysWhatItAssumes) {
  EXPECT_TRUE(machine_of("8gpu-two-sockets").assumptions.empty());
  Topology topology = make_preset("8gpu-two-sockets").value();
  for (const NodeId id : topology.of_kind(NodeKind::numa_node)) topology.node(id).details.clear();
  EXPECT_FALSE(seen_by_nccl(topology).assumptions.empty()) << "whose processors these are";
}

TEST(NcclGraph, TakesPcieOfUnknownGenerationAsTheTwinDoes) {
  Topology topology = make_preset("4gpu-pcie4-one-root").value();
  for (LinkId id = 0; id < static_cast<LinkId>(topology.links().size()); ++id) {
    topology.link(id).generation.reset();
    topology.link(id).width.reset();
  }
  const NcclChannels ring = seen_by_nccl(topology).ring;
  EXPECT_EQ(ring.count * ring.intra, 24) << "4.0 x16, not 3.0";
}

TEST(NcclGraph, WithoutPeerAccessUplinksAreCrossedTwice) {
  const auto ring = [](const char* preset, std::optional<bool> peer_access) {
    const NcclChannels found =
        seen_by_nccl(make_preset(preset).value(), {.peer_access = peer_access}).ring;
    return found.count * found.intra;
  };
  EXPECT_EQ(ring("4gpu-pcie4-two-switches", std::nullopt), 24);
  EXPECT_EQ(ring("4gpu-pcie4-two-switches", false), 12)
      << "both GPUs of a switch send up its uplink";
  EXPECT_EQ(ring("4gpu-pcie4-one-root", false), 24) << "each GPU has a link up of its own";
  EXPECT_EQ(ring("dgx-a100", false), ring("dgx-a100", std::nullopt)) << "NVLink stays";
}

TEST(NcclGraph, RefusesASingleGpu) {
  Topology topology;
  (void)topology.add({.kind = NodeKind::gpu,
                      .name = "GPU0",
                      .number = {},
                      .address = {},
                      .model = {},
                      .details = {}});
  EXPECT_THROW((void)seen_by_nccl(topology), Error);
}

TEST(NcclModel, OfAnA100BoxIsWhatItsFiguresSay) {
  const auto all = nccl_predictions(machine_of("dgx-a100"), Collective::all_reduce, 1 << 30);
  const auto ring = find(all, NcclAlgorithm::ring, NcclProtocol::simple);
  EXPECT_NEAR(ring.bandwidth, 240 * 8 / 14.0, 1e-9);
  EXPECT_NEAR(ring.latency, (8.4 + 14 * 3.4) * 1e-6, 1e-12);
  EXPECT_NEAR(ring.seconds, 56e-6 + (1 << 30) / (240e9 * 8 / 14), 1e-9);
  const auto tree = find(all, NcclAlgorithm::tree, NcclProtocol::simple);
  EXPECT_NEAR(tree.bandwidth, 0.92 * 240 / 2, 1e-9) << "beyond the sizes that are corrected";
  EXPECT_NEAR(tree.latency, (8.4 + 14 * 4.0) * 1e-6, 1e-12);
  const auto low = find(all, NcclAlgorithm::ring, NcclProtocol::ll);
  EXPECT_NEAR(low.bandwidth, 87.7 * 8 / 14, 1e-9);
  const auto low128 = find(all, NcclAlgorithm::ring, NcclProtocol::ll128);
  EXPECT_NEAR(low128.bandwidth, 0.92 * 240 * 8 / 14, 1e-9);
  EXPECT_EQ(all.front().algorithm, NcclAlgorithm::ring);
  EXPECT_EQ(all.front().protocol, NcclProtocol::simple);
}

TEST(NcclModel, PicksLowLatencyForSmallMessages) {
  const auto all = nccl_predictions(machine_of("dgx-a100"), Collective::all_reduce, 1024);
  EXPECT_EQ(all.front().protocol, NcclProtocol::ll);
  EXPECT_NEAR(find(all, NcclAlgorithm::tree, NcclProtocol::ll).latency, (6.8 + 14 * 0.6) * 1e-6,
              1e-12);
}

TEST(NcclModel, TakesFromTreesOfMiddleSizes) {
  const NcclMachine machine = machine_of("dgx-a100");
  const auto bandwidth = [&](double bytes) {
    return find(nccl_predictions(machine, Collective::all_reduce, bytes), NcclAlgorithm::tree,
                NcclProtocol::ll)
        .bandwidth;
  };
  EXPECT_NEAR(bandwidth(64 << 12) / bandwidth(64), 0.4, 1e-12);
  EXPECT_NEAR(bandwidth(64 << 10) / bandwidth(64), 0.6, 1e-12);
}

TEST(NcclModel, HasNvlsFromHopperOnAndItGivesTheBandwidthThatPeopleSee) {
  const double bytes = 8.0 * (1 << 30);
  const auto all = nccl_predictions(machine_of("dgx-h100"), Collective::all_reduce, bytes);
  const auto nvls = find(all, NcclAlgorithm::nvls, NcclProtocol::simple);
  EXPECT_NEAR(nvls.bandwidth * 14 / 8, 476, 1e-9) << "475 to 480 GB/s of the bus as posted";
  EXPECT_NEAR(nvls.latency, 25e-6, 1e-12);
  EXPECT_EQ(all.front().algorithm, NcclAlgorithm::nvls);
  EXPECT_FALSE(considers(nccl_predictions(machine_of("dgx-a100"), Collective::all_reduce, bytes),
                         NcclAlgorithm::nvls, NcclProtocol::simple));
}

TEST(NcclModel, HasNoLl128OverPcie) {
  const auto all =
      nccl_predictions(machine_of("4gpu-pcie4-two-switches"), Collective::all_reduce, 1 << 16);
  EXPECT_FALSE(considers(all, NcclAlgorithm::ring, NcclProtocol::ll128));
  EXPECT_FALSE(considers(all, NcclAlgorithm::tree, NcclProtocol::ll128));
  EXPECT_NEAR(find(all, NcclAlgorithm::ring, NcclProtocol::simple).latency, (8.4 + 6 * 5.7) * 1e-6,
              1e-12);
}

TEST(NcclModel, CountsTheStepsOfOtherCollectives) {
  const NcclMachine machine = machine_of("4gpu-pcie4-two-switches");
  const auto ring = [&](Collective collective) {
    return find(nccl_predictions(machine, collective, 1 << 20), NcclAlgorithm::ring,
                NcclProtocol::simple);
  };
  EXPECT_NEAR(ring(Collective::all_gather).bandwidth, 24 * 4 / 3.0, 1e-9);
  EXPECT_NEAR(ring(Collective::reduce_scatter).latency, (8.4 + 3 * 5.7) * 1e-6, 1e-12);
  EXPECT_NEAR(ring(Collective::broadcast).bandwidth, 24, 1e-9);
  EXPECT_NEAR(ring(Collective::broadcast).latency, (8.4 + 5.7) * 1e-6, 1e-12);
  EXPECT_THROW((void)nccl_predictions(machine, Collective::all_to_all, 1024), Error);
}

TEST(NcclModel, AddsTheNetworkBetweenBoxes) {
  const NcclMachine machine = machine_of("fat-tree:boxes=4");
  EXPECT_EQ(machine.boxes, 4);
  EXPECT_EQ(machine.ranks, 32);
  EXPECT_EQ(machine.ring, (NcclChannels{8, 24, 24})) << "a channel for each NIC of 200 Gb/s";
  const auto all = nccl_predictions(machine, Collective::all_reduce, 1 << 30);
  const auto ring = find(all, NcclAlgorithm::ring, NcclProtocol::simple);
  EXPECT_NEAR(ring.bandwidth, 8 * 24 * 32 / 62.0, 1e-9);
  EXPECT_NEAR(ring.latency, 1.4 * (8.4 + 56 * 3.4 + 6 * 14.0) * 1e-6, 1e-12);
  const auto tree = find(all, NcclAlgorithm::tree, NcclProtocol::simple);
  EXPECT_NEAR(tree.latency, (8.4 + 2 * (7 * 4.0 + 2 * 14.0)) * 1e-6, 1e-12);
}

TEST(NcclModel, SaysWhoseModelItIs) {
  const auto all =
      nccl_predictions(machine_of("8gpu-two-sockets"), Collective::all_reduce, 100 << 20);
  EXPECT_EQ(describe(all.front()), "Ring/Simple: 18.4 ms by NCCL's own model");
}

}  // namespace
}  // namespace ringside::tests
