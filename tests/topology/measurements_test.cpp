// SPDX-License-Identifier: MIT
/// What was measured between GPUs, as consumers ask for it: from real texts and from our own
/// reports.
#include "ringside/topology/measurements.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/base/json_write.hpp"
#include "ringside/topology/build/build_topology.hpp"
#include "ringside/topology/build/measured.hpp"
#include "ringside/topology/writers/measured.hpp"

namespace ringside::tests {
namespace {

const std::string data = RINGSIDE_TEST_DATA;

std::vector<Reading> read_files(const std::vector<std::string>& files) {
  std::vector<Reading> readings;
  for (const auto& file : files)
    for (auto& reading : read_text(read_file(data + "/" + file), file))
      readings.push_back(std::move(reading));
  return readings;
}

Measurements measured_in(const std::vector<Reading>& readings, const Topology* topology = nullptr) {
  std::vector<Finding> findings;
  return measurements_of(readings, topology, findings);
}

constexpr auto one_way = MeasuredTraffic::one_way;
constexpr auto both_ways = MeasuredTraffic::both_ways;

TEST(Measurements, WhatThePeerTestEnabledWithoutAccessIsMeasuredWithout) {
  const auto measured =
      measured_in(read_files({"corpus/pairs/044-8x4090-epyc7542-p2poff-full.txt"}));
  EXPECT_EQ(measured.bandwidth({.from = 0, .to = 1, .peer_access = false}), 18.77);
  EXPECT_EQ(measured.bandwidth({.from = 0, .to = 1, .peer_access = true}), std::nullopt)
      << "its connectivity matrix says that there is no P2P";
  EXPECT_EQ(measured.bandwidth({.from = 0, .to = 1, .traffic = both_ways}), 21.03);
  EXPECT_EQ(measured.latency({.from = 1, .to = 0, .peer_access = false}), 11.60);
  EXPECT_EQ(measured.bandwidth({.from = 0, .to = 8}), std::nullopt);
}

TEST(Measurements, TheAnswerOfALinkListsWhoReachesWhom) {
  const auto measured = measured_in(read_files({"posted/008-p2pbw-from-row-1.txt"}));
  EXPECT_EQ(measured.latency({.from = 1, .to = 2, .peer_access = true}), 0.42);
  EXPECT_EQ(measured.latency({.from = 1, .to = 2, .peer_access = false}), 18.08);
}

TEST(Measurements, WherePeersAreReadTheRowReceives) {
  const auto measured = measured_in(read_text(
      "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n   D\\D     0      1\n"
      "     0 500.00  10.00\n     1  20.00 500.00\n"
      "Unidirectional P2P=Enabled Bandwidth (P2P Reads) Matrix (GB/s)\n   D\\D     0      1\n"
      "     0 500.00  30.00\n     1  40.00 500.00\n",
      "text"));
  EXPECT_EQ(measured.bandwidth({.from = 0, .to = 1, .peer_access = false}), 20.00);
  EXPECT_EQ(measured.bandwidth({.from = 0, .to = 1, .peer_access = true}), 40.00);
}

TEST(Measurements, NvbandwidthTellsDirectionsByItsArrows) {
  const auto measured = measured_in(read_files({"posted/018-nvbandwidth-json.txt"}));
  // "GPU(row) <- GPU(column)": the row's device receives.
  EXPECT_EQ(measured.bandwidth({.from = 1, .to = 0, .peer_access = true}), 778.1);
  EXPECT_EQ(measured.bandwidth({.from = 0, .to = 1, .peer_access = true}), 777.9);
  EXPECT_EQ(measured.bandwidth({.from = host_memory, .to = 1}), 184.6);
}

TEST(Measurements, OfNvbandwidthsThreeMatricesOnlyTheTotalIsOfBothWays) {
  const auto measured = measured_in(read_files({"posted/017-nvbandwidth-three-matrices.txt"}));
  EXPECT_EQ(measured.bandwidth({.from = 0, .to = 1, .traffic = both_ways}), 706.85);
  EXPECT_EQ(measured.bandwidth({.from = 0, .to = 1, .traffic = one_way}), std::nullopt);
  EXPECT_NEAR(measured.latency({.from = 0, .to = 1}).value(), 0.82642, 1e-9) << "it prints ns";
}

TEST(Measurements, ACopyEnginesFigureGoesBeforeAKernels) {
  const auto figure = [](MeasuredMethod method, double value) {
    PairMeasurement each;
    each.to = 1;
    each.method = method;
    each.value = value;
    return each;
  };
  Measurements measured;
  measured.pairs = {figure(MeasuredMethod::kernel, 40), figure(MeasuredMethod::copy_engine, 50),
                    figure(MeasuredMethod::copy_engine, 51)};
  EXPECT_EQ(measured.bandwidth({.from = 0, .to = 1}), 50);
  EXPECT_EQ(measured.bandwidth({.from = 1, .to = 0}), std::nullopt);
}

TEST(Measurements, CudasNumbersBecomeThoseOfTheTopology) {
  // CUDA counts the fastest first; nvidia-smi in the order of the addresses.
  const std::string test =
      "Device: 0, NVIDIA GeForce RTX 5090, pciBusID: c1, pciDeviceID: 0, pciDomainID:0\n"
      "Device: 1, NVIDIA GeForce RTX 3090, pciBusID: 41, pciDeviceID: 0, pciDomainID:0\n"
      "Device=0 CAN Access Peer Device=1\nDevice=1 CANNOT Access Peer Device=0\n"
      "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n   D\\D     0      1\n"
      "     0 909.49  21.00\n     1  11.00 919.12\n";
  const std::string matrix =
      "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tPHB\t0-15\nGPU1\tPHB\t X \t0-15\n";
  auto readings = read_text(matrix, "matrix");
  for (auto& reading : read_text(test, "test")) readings.push_back(std::move(reading));
  const auto topology = build_topology(readings).topology;
  const auto measured = measured_in(readings, &topology);
  EXPECT_EQ(measured.bandwidth({.from = 1, .to = 0}), 21.00);
  EXPECT_EQ(measured.bandwidth({.from = 0, .to = 1}), 11.00);
  EXPECT_EQ(topology.node(topology.find("GPU1").value()).model, "NVIDIA GeForce RTX 5090");
  EXPECT_EQ(to_string(topology.node(topology.find("GPU0").value()).address.value()),
            "0000:41:00.0");
  ASSERT_EQ(topology.peer_access.size(), 2U);
  EXPECT_EQ(topology.peer_access[0].from, topology.find("GPU1"));
  EXPECT_EQ(topology.peer_access[0].status, "OK");
  EXPECT_EQ(topology.peer_access[1].status, "refused");
}

TEST(Measurements, MoreGpusThanTheMachineHasAreOfAnother) {
  auto readings = read_files({"corpus/pairs/044-8x4090-epyc7542-p2poff-full.txt"});
  for (auto& reading : read_text("\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n", "matrix"))
    readings.push_back(std::move(reading));
  const auto topology = build_topology(readings).topology;
  EXPECT_THROW((void)measured_in(readings, &topology), Error);
}

TEST(Preflight, AReportOfARealMachineIsRead) {
  const auto readings = read_files({"preflight/h200.json"});
  ASSERT_EQ(readings.size(), 1U);
  EXPECT_EQ(readings[0].reader, "Ringside's preflight");
  const auto& report = std::get<PreflightReport>(readings[0].facts);
  ASSERT_EQ(report.devices.size(), 1U);
  EXPECT_EQ(report.devices[0].device.model, "NVIDIA H200");
  EXPECT_FALSE(report.is_virtual);
  EXPECT_TRUE(report.okay);
  const auto measured = measured_in(readings);
  EXPECT_NEAR(measured.bandwidth({.from = host_memory, .to = 0}).value(), 55.34, 0.01);
  EXPECT_NEAR(measured.bandwidth({.from = 0, .to = host_memory, .traffic = both_ways}).value(),
              101.0, 0.1);
}

TEST(Preflight, PathsThatLoseDataAreFaults) {
  const auto readings = read_files({"preflight/two_virtual_lost.json"});
  const auto& report = std::get<PreflightReport>(readings.at(0).facts);
  EXPECT_TRUE(report.is_virtual);
  EXPECT_FALSE(report.okay);
  EXPECT_TRUE(report.measured.pairs.empty()) << "nothing is measured on virtual devices";
  ASSERT_FALSE(report.measured.faults.empty());
  const auto& fault = report.measured.faults[0];
  EXPECT_EQ(fault.kind, "lost");
  EXPECT_EQ(fault.from, 0);
  EXPECT_EQ(fault.to, 1);
  EXPECT_EQ(fault.peer_access, true);
  EXPECT_NE(measured_text(report.measured).find("broken: 0 -> 1"), std::string::npos);
}

/// The report of the virtual devices as if they had been measured.
std::string measured_report() {
  Json json = Json::parse(read_file(data + "/preflight/two_virtual_lost.json"));
  json["virtual_devices"] = false;
  double value = 10;
  for (auto& step : json["bandwidths"]) {
    double total = 0;
    for (auto& flow : step["flows"]) total += value, flow["bandwidth_gb_per_s"] = value++;
    step["total_bandwidth_gb_per_s"] = total;
  }
  for (auto& step : json["latencies"]) step["latency_us"] = 3.5;
  json["devices"][1]["pcie_link_width"] = 4;
  json["devices"][1]["pcie_link_width_most"] = 16;
  json["devices"][1]["pcie_link_speed_most"] = "16.0 GT/s PCIe";
  return json.dump(2);
}

TEST(Preflight, AnnotatesTheMachine) {
  auto readings = read_text("$ ringside bench --preflight\n" + measured_report(), "paths");
  for (auto& reading : read_text("\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n", "matrix"))
    readings.push_back(std::move(reading));
  const auto topology = build_topology(readings).topology;
  const NodeId second = topology.find("GPU1").value();
  EXPECT_EQ(topology.node(second).model, "virtual device 1");
  EXPECT_EQ(to_string(topology.node(second).address.value()), "0000:02:00.0");
  const Link& link = topology.link(topology.link_up(second).value());
  EXPECT_EQ(link.width, 4);
  EXPECT_EQ(link.most_width, 16);
  EXPECT_EQ(link.most_generation, 4);
  ASSERT_EQ(topology.peer_access.size(), 2U);
  EXPECT_EQ(topology.peer_access[0].status, "OK");
  const auto measured = measured_in(readings, &topology);
  for (const bool access : {false, true}) {
    EXPECT_TRUE(measured.bandwidth({.from = 0, .to = 1, .peer_access = access}).has_value());
    EXPECT_EQ(measured.latency({.from = 1, .to = 0, .peer_access = access}), 3.5);
    const auto both =
        measured.bandwidth({.from = 0, .to = 1, .traffic = both_ways, .peer_access = access});
    const auto there = measured.bandwidth(
        {.from = 0, .to = 1, .traffic = MeasuredTraffic::opposed, .peer_access = access});
    const auto back = measured.bandwidth(
        {.from = 1, .to = 0, .traffic = MeasuredTraffic::opposed, .peer_access = access});
    EXPECT_EQ(both, there.value() + back.value());
  }
}

TEST(Preflight, AReportWithoutEndIsRefused) {
  const auto report = measured_report();
  EXPECT_THROW((void)read_text(report.substr(0, report.size() / 2), "paths"), Error);
}

TEST(BenchJson, EveryCollectiveAndAlgorithmIsATable) {
  const auto readings = read_files({"fuzz/topo_collectives/ours_json"});
  ASSERT_EQ(readings.size(), 2U);
  EXPECT_EQ(readings[0].reader, "Ringside's bench");
  const auto& first = std::get<CollectiveRows>(readings[0].facts);
  EXPECT_EQ(first.collective, "all_reduce");
  EXPECT_EQ(first.algorithm, "ring");
  EXPECT_EQ(first.ranks, 4);
  ASSERT_EQ(first.rows.size(), 1U);
  EXPECT_EQ(first.rows[0].size, 1048576U);
  EXPECT_EQ(first.rows[0].out_of_place->busbw, 15.65);
  EXPECT_FALSE(first.rows[0].in_place.has_value());
  EXPECT_EQ(std::get<CollectiveRows>(readings[1].facts).algorithm, "two_shot");
}

TEST(BenchJson, NcclTestsOwnReportHasItsRanks) {
  const auto readings = read_text(
      R"({"version": "2.17.8", "config": {"devices": [{"rank": 0}, {"rank": 1}]},
          "results": [{"size": 1024, "count": 256, "type": "float", "redop": "sum", "root": "-1",
            "out_of_place": {"time": 9.9, "alg_bw": 0.10, "bus_bw": 0.10, "nwrong": "0"},
            "in_place": {"time": 9.8, "alg_bw": 0.10, "bus_bw": 0.10, "nwrong": "N/A"}}]})",
      "json");
  const auto& table = std::get<CollectiveRows>(readings.at(0).facts);
  EXPECT_EQ(readings[0].reader, "nccl-tests");
  EXPECT_EQ(table.ranks, 2);
  EXPECT_EQ(table.rows.at(0).in_place->time_us, 9.8);
}

}  // namespace
}  // namespace ringside::tests
