// SPDX-License-Identifier: MIT
/// Which curves share a chart, and how.
#include "ringside/tools/report/panels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace ringside::tests {
namespace {

using report::Curve;
using report::Figures;
using report::Role;
using report::Runs;

const report::Call all_reduce{
    .collective = "all_reduce", .ranks = 2, .gpus = false, .type = "float32", .redop = "sum"};

Curve curve(const std::string& label, std::vector<double> us, std::size_t source = 0) {
  Curve curve{.call = all_reduce, .series = {.label = label, .source = source}};
  std::uint64_t bytes = 8;
  for (const double time : us) {
    curve.series.points.push_back({.bytes = bytes, .us = time, .busbw = 1 / time});
    bytes *= 8;
  }
  return curve;
}

Runs runs_of(std::vector<Curve> curves) {
  Runs runs;
  runs.sources = {{.file = "a/host.json", .kind = "benchmark"},
                  {.file = "b/box.json", .kind = "simulation"}};
  runs.curves = std::move(curves);
  return runs;
}

TEST(Panels, OneCollectiveAndNumberOfRanksIsAPanelAndItsPlacementsAreVariants) {
  auto in_place = curve("ring", {1, 2});
  in_place.call.in_place = true;
  auto on_gpus = curve("ring", {1, 2});
  on_gpus.call.gpus = true;
  auto more_ranks = curve("ring", {1, 2});
  more_ranks.call.ranks = 4;
  const auto panels =
      report::panels_of(runs_of({curve("ring", {1, 2}), in_place, on_gpus, more_ranks}));
  ASSERT_EQ(panels.size(), 3U);
  EXPECT_EQ(panels[0].title, "all_reduce, 2 ranks");
  ASSERT_EQ(panels[0].variants.size(), 2U);
  EXPECT_EQ(panels[0].variants[1].name, "float32 sum, in place");
  EXPECT_EQ(panels[1].title, "all_reduce, 2 GPU ranks");
  EXPECT_EQ(panels[2].title, "all_reduce, 4 ranks");
}

TEST(Panels, LabelsOfAChartAreAllDifferent) {
  auto simulated = curve("ring", {1, 2}, 1);
  simulated.series.figures = Figures::simulated;
  const auto panels = report::panels_of(runs_of(
      {curve("ring", {1, 2}), curve("ring", {2, 3}, 1), curve("ring", {2, 4}, 1), simulated}));
  std::vector<std::string> labels;
  for (const auto& shown : panels.at(0).variants.at(0).series) labels.push_back(shown.label);
  EXPECT_EQ(labels,
            (std::vector<std::string>{"ring (measured), host.json", "ring (measured), box.json",
                                      "ring (measured), box.json #2", "ring (simulated)"}));
  EXPECT_FALSE(panels[0].notes.empty()) << "several files";
}

TEST(Panels, OfManyLinesTheBestThePeersAndTheBoundAreShownAtFirst) {
  std::vector<Curve> curves;
  for (int i = 0; i < 9; ++i)
    curves.push_back(curve("slow" + std::to_string(i), {10.0 + i, 20.0 + i}));
  curves.push_back(curve("fast", {1, 2}));
  curves.push_back(curve("openmpi", {50, 60}));
  curves.back().series.role = Role::peer;
  curves.push_back(curve("bound", {0.5, 1}));
  curves.back().series.role = Role::bound;
  const auto panels = report::panels_of(runs_of(curves));
  std::vector<std::string> on;
  for (const auto& shown : panels.at(0).variants.at(0).series)
    if (shown.on) on.push_back(shown.series.label);
  EXPECT_EQ(on, (std::vector<std::string>{"slow0", "slow1", "slow2", "fast", "openmpi", "bound"}));
}

TEST(Panels, MeasuredAndSimulatedLinesDoNotCrossEachOther) {
  auto simulated = curve("chain", {1, 100}, 1);
  simulated.series.figures = Figures::simulated;
  EXPECT_TRUE(report::panels_of(runs_of({curve("ring", {10, 20}), simulated}))[0]
                  .variants[0]
                  .crossovers.empty());
}

TEST(Panels, APeerOfAnotherRunIsComparedByMediansAndSaysSo) {
  auto peer = curve("nccl", {4, 4}, 1);
  peer.series.role = Role::peer;
  auto runs = runs_of({curve("ring", {2, 8}), curve("chain", {4, 2}), peer});
  const auto ratios = report::panels_of(runs)[0].variants[0].ratios;
  ASSERT_EQ(ratios.size(), 1U);
  EXPECT_FALSE(ratios[0].same_rounds);
  ASSERT_EQ(ratios[0].points.size(), 2U);
  EXPECT_DOUBLE_EQ(ratios[0].points[0].ratio, 2);
  EXPECT_EQ(ratios[0].points[0].algorithm, "ring");
  EXPECT_DOUBLE_EQ(ratios[0].points[1].ratio, 2);
  EXPECT_EQ(ratios[0].points[1].algorithm, "chain");

  // What the run itself compared, in the same rounds, comes first.
  runs.ratios.push_back(
      {.call = all_reduce, .peer = "nccl", .source = 1, .points = {{8, 3, "ring"}}});
  const auto told = report::panels_of(runs)[0].variants[0].ratios;
  ASSERT_EQ(told.size(), 1U);
  EXPECT_TRUE(told[0].same_rounds);
}

TEST(Panels, NothingMakesNoPanel) { EXPECT_TRUE(report::panels_of({}).empty()); }

}  // namespace
}  // namespace ringside::tests
