// SPDX-License-Identifier: MIT
/// NCCL as the twin simulates it: which rings, and closed forms of its times.
#include "ringside/collectives/executors/simulated/nccl_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "ringside/base/error.hpp"
#include "ringside/collectives/executors/simulated/nccl_rings.hpp"
#include "ringside/collectives/prover.hpp"
#include "ringside/topology/path.hpp"
#include "ringside/topology/presets/presets.hpp"

namespace ringside::tests {
namespace {

constexpr double giga = 1e9, micro = 1e-6;

MachineDescription described(const char* preset) {
  Topology topology = *make_preset(preset);
  LinkModel model = *link_model_for(topology).model;
  return {.topology = std::move(topology), .model = std::move(model), .settings = {}};
}

std::vector<int> first_gpus(int count) {
  std::vector<int> gpus(static_cast<std::size_t>(count));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

double seconds(const MachineDescription& machine, NcclCall call) {
  return nccl_seconds(as_nccl_uses(machine), call);
}

TEST(NcclRings, OfACubeMeshUseEveryLinkOnce) {
  const auto topology = *make_preset("dgx1v");
  const auto rings = nccl_rings(topology, first_gpus(8));
  EXPECT_EQ(rings.size(), 6U) << "each V100 has six links";
  std::map<std::pair<int, int>, int> used;
  for (const auto& ring : rings)
    for (std::size_t i = 0; i < ring.size(); ++i) ++used[{ring[i], ring[(i + 1) % ring.size()]}];
  const auto gpus = topology.gpus();
  for (const auto& [hop, count] : used) {
    const auto direct = route(topology, gpus[static_cast<std::size_t>(hop.first)],
                              gpus[static_cast<std::size_t>(hop.second)]);
    ASSERT_EQ(direct->size(), 1U) << "over one link";
    EXPECT_LE(count, *topology.link(direct->front()).count);
  }
}

TEST(NcclRings, OverBoxesLeaveFromEveryGpuInTurn) {
  const auto topology = *make_preset("fat-tree:boxes=2");
  const auto rings = nccl_rings(topology, first_gpus(16));
  ASSERT_EQ(rings.size(), 8U);
  std::set<int> leaving;
  for (const auto& ring : rings) {
    EXPECT_EQ(std::set<int>(ring.begin(), ring.end()).size(), 16U);
    leaving.insert(ring[7]);
  }
  EXPECT_EQ(leaving.size(), 8U);
}

TEST(NcclRings, OnASwitchOneRingIsEnough) {
  EXPECT_EQ(nccl_rings(*make_preset("dgx-a100"), first_gpus(8)).size(), 1U);
  EXPECT_EQ(nccl_rings(*make_preset("8gpu-two-switches"), first_gpus(8)).size(), 1U);
}

TEST(NcclRings, ThePlanOnThemIsRight) {
  for (const char* preset : {"dgx1v", "fat-tree:boxes=2", "4gpu-pcie4-one-root"}) {
    const auto topology = *make_preset(preset);
    const auto rings = nccl_rings(topology, first_gpus(static_cast<int>(topology.gpus().size())));
    const auto proof = prove(all_reduce_on_rings(rings));
    EXPECT_TRUE(proof.holds()) << preset;
  }
}

TEST(NcclRun, ARingOnASwitchIsTheClosedForm) {
  const auto machine = described("dgx-a100");
  const double bytes = 1 << 30;
  const double rate = 12 * machine.model.value("nvlink3.kernel") * giga;
  const double latency =
      micro * (machine.model.value("nccl.call") + 14 * machine.model.value("nccl.step.nvlink"));
  const NcclCall call{.collective = Collective::all_reduce,
                      .way = NcclWay::ring,
                      .gpus = first_gpus(8),
                      .bytes = bytes};
  EXPECT_NEAR(seconds(machine, call), latency + bytes * 2 * 7 / 8 / rate, 1e-6);
  auto half = call;
  half.collective = Collective::all_gather;
  EXPECT_NEAR(seconds(machine, half),
              latency / 2 + micro * machine.model.value("nccl.call") / 2 + bytes * 7 / 8 / rate,
              1e-6);
}

TEST(NcclRun, APipelineMovesAllOfItOnce) {
  const auto machine = described("dgx-a100");
  const double bytes = 1 << 30;
  const double rate = 12 * machine.model.value("nvlink3.kernel") * giga;
  const double latency =
      micro * (machine.model.value("nccl.call") + 7 * machine.model.value("nccl.step.nvlink"));
  for (const auto collective : {Collective::broadcast, Collective::reduce})
    EXPECT_NEAR(seconds(machine, {.collective = collective,
                                  .way = NcclWay::ring,
                                  .gpus = first_gpus(8),
                                  .bytes = bytes}),
                latency + bytes / rate, 1e-6);
}

TEST(NcclRun, ReductionInTheSwitchGrowsWithTheRanks) {
  const auto machine = described("dgx-h100");
  double last = 0;
  for (const int ranks : {4, 6, 8}) {
    const double bytes = 8e9;
    const double time = seconds(machine, {.collective = Collective::all_reduce,
                                          .way = NcclWay::nvls,
                                          .gpus = first_gpus(ranks),
                                          .bytes = bytes});
    const double bus = bytes / time * 2 * (ranks - 1) / ranks;
    EXPECT_GT(bus, last);
    last = bus;
  }
  EXPECT_NEAR(last / giga, 473, 15) << "stas00/ml-engineering, 8 H200";
}

TEST(NcclRun, OverSeveralBoxesTheNicsDecide) {
  const auto machine = described("fat-tree:boxes=2");
  const double bytes = 8e9;
  const double time = seconds(machine, {.collective = Collective::all_reduce,
                                        .way = NcclWay::ring,
                                        .gpus = first_gpus(16),
                                        .bytes = bytes});
  EXPECT_NEAR(bytes / time * 2 * 15 / 16 / giga, 8 * 25 * 0.95, 4);
}

TEST(NcclRun, WithoutPeerAccessDataStreamThroughTheHost) {
  const auto machine = with_what_if(described("4gpu-pcie4-two-switches"), "p2p=off");
  const NcclCall call{.collective = Collective::all_reduce,
                      .way = NcclWay::ring,
                      .gpus = first_gpus(4),
                      .bytes = 1e9};
  const double staged = seconds(machine, call),
               direct = seconds(described("4gpu-pcie4-two-switches"), call);
  EXPECT_GT(staged, 2 * direct) << "the uplinks carry both GPUs' data up and down";
}

TEST(NcclRun, WhatNcclDoesNotDoIsRefused) {
  const auto machine = described("dgx-a100");
  const NcclCall call{.collective = Collective::all_reduce,
                      .way = NcclWay::nvls,
                      .gpus = first_gpus(8),
                      .bytes = 1e9};
  EXPECT_THROW((void)seconds(machine, call), Error) << "these switches do not reduce";
  auto pairs = call;
  pairs.way = NcclWay::pairs;
  EXPECT_THROW((void)seconds(machine, pairs), Error);
  auto gather = call;
  gather.way = NcclWay::ring;
  gather.collective = Collective::gather;
  EXPECT_THROW((void)seconds(machine, gather), Error);
}

}  // namespace
}  // namespace ringside::tests
