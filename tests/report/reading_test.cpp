// SPDX-License-Identifier: MIT
/// Reading runs: one file of every kind, made by our own commands (tests/data/report).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/tests/support/outcome.hpp"
#include "ringside/tools/report/read_runs.hpp"

namespace ringside::tests {
namespace {

using report::Figures;
using report::Role;
using report::Runs;

std::string path_of(const std::string& name) { return RINGSIDE_TEST_DATA "/report/" + name; }

Runs read(const std::string& name) {
  Runs runs;
  report::read_run(read_file(path_of(name)), name, runs);
  EXPECT_EQ(runs.sources.size(), 1U);
  return runs;
}

std::string complaint(const std::string& text) {
  Runs runs;
  return bad_input_of([&] { report::read_run(text, "a.json", runs); });
}

TEST(Reading, ABenchmarkHasCurvesOfOursAndOfOthersWithTheirSpread) {
  const auto runs = read("bench.json");
  EXPECT_EQ(runs.sources[0].kind, "benchmark");
  EXPECT_EQ(runs.sources[0].figures, Figures::measured);
  std::set<std::string> ours, peers;
  for (const auto& curve : runs.curves) {
    (curve.series.role == Role::peer ? peers : ours).insert(curve.series.label);
    EXPECT_EQ(curve.call.collective, "all_reduce");
    EXPECT_EQ(curve.call.type, "float32");
    EXPECT_FALSE(curve.call.gpus);
    for (const auto& point : curve.series.points) {
      EXPECT_GT(point.us, 0);
      ASSERT_TRUE(point.least && point.most);
      EXPECT_LE(*point.least, *point.most);
    }
  }
  EXPECT_EQ(ours, (std::set<std::string>{"ring", "two_shot"}));
  EXPECT_EQ(peers, (std::set<std::string>{"openmpi"}));
  ASSERT_FALSE(runs.ratios.empty());
  EXPECT_TRUE(runs.ratios[0].same_rounds);
}

TEST(Reading, ABenchmarkNamesTheOptionsSet) {
  auto text = read_file(path_of("bench.json"));
  const std::string none = "\"options\": []";
  text.replace(text.find(none), none.size(), R"("options": [["checksum", "1"], ["inline", "0"]])");
  Runs runs;
  report::read_run(text, "bench.json", runs);
  const std::pair<std::string, std::string> expected = {"options set", "checksum=1 inline=0"};
  EXPECT_EQ(std::ranges::count(runs.sources.at(0).facts, expected), 1);
}

TEST(Reading, ASimulationHasCurvesABoundAndItsMachineWithLoads) {
  const auto runs = read("simulate.json");
  EXPECT_EQ(runs.sources[0].figures, Figures::simulated);
  bool bound = false;
  for (const auto& curve : runs.curves) {
    EXPECT_TRUE(curve.call.gpus);
    if (curve.series.role != Role::bound) continue;
    bound = true;
    EXPECT_EQ(curve.series.figures, Figures::predicted);
    for (const auto& other : runs.curves)
      for (std::size_t i = 0; i < curve.series.points.size(); ++i)
        EXPECT_GE(other.series.points.at(i).us, curve.series.points[i].us * (1 - 1e-12));
  }
  EXPECT_TRUE(bound);
  ASSERT_EQ(runs.machines.size(), 1U);
  EXPECT_EQ(runs.machines[0].topology.gpus().size(), 4U);
  ASSERT_FALSE(runs.machines[0].loads.empty());
  EXPECT_FALSE(runs.machines[0].loads[0].links.empty());
}

TEST(Reading, ATimeLineHasALaneForEveryRankAndSpansInOrder) {
  const auto runs = read("timeline.json");
  ASSERT_EQ(runs.timelines.size(), 1U);
  const auto& timeline = runs.timelines[0];
  EXPECT_EQ(timeline.rows.size(), 4U);
  ASSERT_FALSE(timeline.spans.empty());
  for (std::size_t i = 1; i < timeline.spans.size(); ++i)
    EXPECT_LE(timeline.spans[i - 1].begin_us, timeline.spans[i].begin_us);
  EXPECT_EQ(timeline.left_out, 0U);
}

TEST(Reading, ATrainingComparisonHasSpeedupsAndThePartsOfAStep) {
  const auto runs = read("train_compare.json");
  ASSERT_EQ(runs.comparisons.size(), 1U);
  const auto& rows = runs.comparisons[0].rows;
  ASSERT_GE(rows.size(), 2U);
  EXPECT_EQ(rows[0].strategy, "single");
  EXPECT_DOUBLE_EQ(rows[0].speedup, 1);
  EXPECT_FALSE(rows[1].speedups.empty());
  std::set<std::string> parts;
  for (const auto& [name, time] : rows[1].parts) parts.insert(name);
  EXPECT_TRUE(parts.contains("forward") && parts.contains("exposed") && parts.contains("hidden"));
}

TEST(Reading, ATrainingComparisonNamesItsModelAndMicroBatchesOnlyOfPipelines) {
  const auto row = [](const std::string& strategy) {
    return R"({"strategy": ")" + strategy +
           R"(", "algorithm": "ring", "micro_batches": 4, "ranks": 2, "samples_per_second": 9,
               "speedup": 1, "speedups": [1], "step_milliseconds": {"forward": 1}})";
  };
  Runs runs;
  report::read_run(R"({"kind": "training_comparison", "model": "mlp", "rows": [)" +
                       row("distributed") + "," + row("pipeline") + "]}",
                   "a.json", runs);
  ASSERT_EQ(runs.comparisons.size(), 1U);
  EXPECT_EQ(runs.comparisons[0].title, "mlp");
  EXPECT_EQ(runs.comparisons[0].rows[0].more, "");
  EXPECT_EQ(runs.comparisons[0].rows[1].more, "4 micro-batches");
}

TEST(Reading, ATrainingOnAnotherMachineIsPredicted) {
  const auto runs = read("train_on.json");
  EXPECT_EQ(runs.sources[0].figures, Figures::predicted);
  ASSERT_EQ(runs.comparisons.size(), 1U);
  const auto& rows = runs.comparisons[0].rows;
  ASSERT_GE(rows.size(), 2U);
  EXPECT_TRUE(rows[1].speedups.empty());
  double sum = 0, hidden = 0;
  for (const auto& [name, time] : rows[1].parts) (name == "hidden" ? hidden : sum) += time;
  EXPECT_GT(sum, 0);
  EXPECT_GE(hidden, 0);
}

TEST(Reading, ATrainingHasEpochsWithTheMeanPartsOfAStep) {
  const auto runs = read("train.json");
  ASSERT_EQ(runs.trainings.size(), 1U);
  ASSERT_EQ(runs.trainings[0].epochs.size(), 2U);
  EXPECT_GT(runs.trainings[0].epochs[0].samples_per_second, 0);
  EXPECT_FALSE(runs.trainings[0].epochs[0].parts.empty());
}

TEST(Reading, ADiagnosisHasItsFindingsAndPrices) {
  const auto runs = read("diagnose.json");
  ASSERT_EQ(runs.diagnoses.size(), 1U);
  ASSERT_FALSE(runs.diagnoses[0].findings.empty());
  const auto& finding = runs.diagnoses[0].findings[0];
  EXPECT_FALSE(finding.title.empty());
  EXPECT_FALSE(finding.lines.empty());
  EXPECT_NE(finding.cost.find("predicted"), std::string::npos);
  EXPECT_FALSE(runs.diagnoses[0].compared.empty());
}

TEST(Reading, APreflightHasPathsAndOnVirtualDevicesNoTimes) {
  Runs runs;
  report::read_run(read_file(RINGSIDE_TEST_DATA "/preflight/h200.json"), "h200.json", runs);
  ASSERT_EQ(runs.preflights.size(), 1U);
  EXPECT_FALSE(runs.preflights[0].paths.empty());
  report::read_run(read_file(RINGSIDE_TEST_DATA "/preflight/two_virtual_lost.json"), "lost.json",
                   runs);
  ASSERT_EQ(runs.preflights.size(), 2U);
  EXPECT_TRUE(runs.preflights[1].paths.empty());
  EXPECT_FALSE(runs.preflights[1].findings.empty());
  EXPECT_EQ(runs.sources[1].figures, Figures::nothing);
}

TEST(Reading, AComparisonOfRunsHasTheRatioOfEveryRow) {
  const auto runs = read("bench_compare.json");
  ASSERT_EQ(runs.changes.size(), 1U);
  EXPECT_FALSE(runs.changes[0].rows.empty());
}

TEST(Reading, ATopologyIsAMachineWithoutLoads) {
  const auto runs = read("topo.json");
  ASSERT_EQ(runs.machines.size(), 1U);
  EXPECT_TRUE(runs.machines[0].loads.empty());
}

TEST(Reading, NcclTestsNamesTheCollectiveInItsArgumentsOrByItsFactor) {
  const std::string rows =
      R"("config": {"devices": [{"device_info": "X"}, {"device_info": "X"}, {"device_info": "X"}, {"device_info": "X"}]},
    "results": [{"size": 1048576, "count": 262144, "type": "float", "redop": "sum", "root": -1,
                 "out_of_place": {"time": 100.0, "alg_bw": 10.48576, "bus_bw": 15.72864, "nwrong": "N/A"},
                 "in_place": {"time": "N/A", "alg_bw": "N/A", "bus_bw": "N/A", "nwrong": "N/A"}}]})";
  Runs runs;
  report::read_run(R"({"args": ["/opt/reduce_scatter_perf", "-b", "8"], )" + rows, "a", runs);
  report::read_run("{" + rows, "b", runs);
  ASSERT_EQ(runs.curves.size(), 2U);
  EXPECT_EQ(runs.curves[0].call.collective, "reduce_scatter");
  EXPECT_EQ(runs.curves[1].call.collective, "all_reduce");
  EXPECT_EQ(runs.curves[1].series.role, Role::peer);
  EXPECT_EQ(runs.curves[1].call.ranks, 4);
  EXPECT_TRUE(runs.curves[1].call.gpus);
}

TEST(Reading, WhatIsNoRunIsRefusedInOneLineThatNamesTheFile) {
  EXPECT_NE(complaint("").find("a.json"), std::string::npos);
  EXPECT_NE(complaint("no JSON").find("a.json"), std::string::npos);
  for (const char* text :
       {"{}", "[]", "3", R"({"ringside_plan": 1})", R"({"kind": "simulated", "choices": []})"})
    EXPECT_NE(complaint(text).find("a.json: $: no run that a report can show"), std::string::npos)
        << complaint(text);
}

TEST(Reading, WhatIsDamagedIsRefusedWithThePlace) {
  EXPECT_NE(complaint(R"({"ringside_bench": 2})").find("a.json: $.ringside_bench: version 2"),
            std::string::npos);
  EXPECT_NE(complaint(R"({"kind": "training_comparison", "rows": [{"strategy": 3}]})")
                .find("a.json: $.rows[0].strategy: "),
            std::string::npos);
  EXPECT_NE(
      complaint(
          R"({"traceEvents": [{"ph": "X", "pid": 0, "tid": 0, "name": "copy", "ts": -1, "dur": 1}]})")
          .find("a.json: $.traceEvents[0].ts: "),
      std::string::npos);
  EXPECT_NE(complaint(R"({"traceEvents": []})").find("no spans"), std::string::npos);
  EXPECT_NE(
      complaint(
          R"({"ringside_topology": 1, "nodes": [{"name": "a", "kind": "gpu"}, {"name": "a", "kind": "gpu"}], "links": []})")
          .find("a.json: "),
      std::string::npos);
}

/// A value of a file cut short anywhere is an error and nothing else.
TEST(Reading, EveryFileCutAnywhereIsRefused) {
  for (const auto& entry : std::filesystem::directory_iterator(path_of(""))) {
    const std::string text = read_file(entry.path().string());
    for (int part = 0; part < 20; ++part) {
      Runs runs;
      const std::string cut = text.substr(0, text.size() * static_cast<std::size_t>(part) / 20);
      EXPECT_THROW(report::read_run(cut, "cut", runs), Error) << entry.path() << " " << part;
    }
  }
}

}  // namespace
}  // namespace ringside::tests
