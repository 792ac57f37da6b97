// SPDX-License-Identifier: MIT
/// Fitting to measurements that the twin itself makes of a machine with other figures.
#include "ringside/collectives/executors/simulated/fit_machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "ringside/base/error.hpp"
#include "ringside/topology/presets/presets.hpp"

namespace ringside::tests {
namespace {

MachineDescription described(const char* preset) {
  Topology topology = *make_preset(preset);
  LinkModel model = *link_model_for(topology).model;
  return {.topology = std::move(topology), .model = std::move(model), .settings = {}};
}

PairMeasurement copy(int from, int to, MeasuredTraffic traffic = MeasuredTraffic::one_way) {
  return {.from = from,
          .to = to,
          .quantity = MeasuredQuantity::bandwidth,
          .traffic = traffic,
          .method = MeasuredMethod::copy_engine,
          .peer_access = true,
          .value = 1,
          .source = "test"};
}

Reading table(const char* collective, int ranks, std::vector<std::uint64_t> sizes) {
  CollectiveRows rows;
  rows.collective = collective;
  rows.ranks = ranks;
  for (const auto size : sizes) {
    CollectiveRow row;
    row.size = size;
    row.out_of_place = CollectiveTiming{.time_us = 1, .algbw = 0, .busbw = 0, .check = ""};
    rows.rows.push_back(std::move(row));
  }
  return {.reader = "test", .source = {}, .facts = std::move(rows), .findings = {}};
}

/// All pairs both ways and one way, and a ring.
FitPoints some_points(const MachineDescription& machine) {
  Measurements measured;
  for (int a = 0; a < 4; ++a)
    for (int b = a + 1; b < 4; ++b) {
      measured.pairs.push_back(copy(a, b));
      measured.pairs.push_back(copy(a, b, MeasuredTraffic::both_ways));
    }
  return fit_points(machine, measured, {table("all_reduce", 4, {64, 1 << 26, 1 << 28})});
}

TEST(FitMachine, FindsAnotherMachinesFigures) {
  const auto believed = described("4gpu-pcie4-two-switches");
  auto real = with_figure(believed, "pcie4.x16.bandwidth=19");
  real = with_figure(real, "pcie.kernel=0.7");
  auto found = some_points(believed);
  const auto measured = predicted_points(real, found.points);
  for (std::size_t i = 0; i < measured.size(); ++i) found.points[i].measured = measured[i];
  const auto fitted = fit_machine(believed, found.points, "test");
  EXPECT_NEAR(fitted.model.value("pcie4.x16.bandwidth"), 19, 0.6);
  EXPECT_NEAR(fitted.model.value("pcie.kernel"), 0.7, 0.03);
  EXPECT_EQ(fitted.model.find("pcie4.x16.bandwidth")->confidence, Confidence::fitted);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    EXPECT_GT(std::abs(fitted.before[i] / measured[i] - 1), 0.1);
    EXPECT_NEAR(fitted.after[i] / measured[i], 1, 0.03) << found.points[i].what;
  }
}

TEST(FitMachine, FreesFewFiguresAndOnlySuchAsMatter) {
  const auto machine = described("4gpu-pcie4-two-switches");
  const auto found = some_points(machine);
  const auto figures = free_figures(machine, found.points, 3);
  EXPECT_LE(figures.size(), 3U);
  EXPECT_TRUE(std::ranges::any_of(
      figures, [](const FreeFigure& figure) { return figure.name == "pcie4.x16.bandwidth"; }));
  for (const auto& figure : figures) {
    EXPECT_EQ(figure.name.find("nvlink"), std::string::npos);
    EXPECT_EQ(figure.name.find("pcie5"), std::string::npos);
  }
}

TEST(FitMachine, WhatIsNotUsedIsTold) {
  const auto machine = described("4gpu-pcie4-two-switches");
  Measurements measured;
  measured.pairs = {copy(0, 0), copy(0, 9)};
  auto latency = copy(0, 1);
  latency.quantity = MeasuredQuantity::latency;
  measured.pairs.push_back(latency);
  const auto found = fit_points(machine, measured,
                                {table("all_reduce", 4, {64}), table("all_reduce", 8, {1 << 26})});
  EXPECT_TRUE(found.points.empty());
  EXPECT_EQ(found.left_out.size(), 5U);
  EXPECT_THROW((void)fit_machine(machine, found.points, "test"), Error);
}

TEST(FitMachine, HostCopiesAndStagedOnesArePointsToo) {
  const auto machine = described("4gpu-pcie4-two-switches");
  Measurements measured;
  auto host = copy(host_memory, 2);
  host.peer_access.reset();
  auto staged = copy(0, 1);
  staged.peer_access = false;
  measured.pairs = {host, staged};
  const auto found = fit_points(machine, measured, {});
  ASSERT_EQ(found.points.size(), 2U);
  const auto rates = predicted_points(machine, found.points);
  EXPECT_NEAR(rates[0], machine.model.value("pcie4.x16.bandwidth"), 0.1);
  EXPECT_LT(rates[1], rates[0]);
}

}  // namespace
}  // namespace ringside::tests
