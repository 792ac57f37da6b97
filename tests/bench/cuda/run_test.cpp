// SPDX-License-Identifier: MIT
/// Whole measurements on virtual devices: everything is checked, nothing is measured.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ringside/base/error.hpp"
#include "ringside/base/json.hpp"
#include "ringside/base/json_write.hpp"
#include "ringside/base/options.hpp"
#include "ringside/bench/json_report.hpp"
#include "ringside/bench/passes.hpp"
#include "ringside/bench/platform.hpp"
#include "ringside/bench/request_json.hpp"
#include "ringside/bench/run_conditions.hpp"
#include "ringside/bench/sweep.hpp"
#include "ringside/bench/tune.hpp"
#include "ringside/tests/bench/cuda/gpu_fixture.hpp"

namespace ringside::tests {
namespace {

using bench::BackendKind;
using bench::Placement;
using bench::Report;

class GpuRun : public GpuBenchTest {};

/// Rows whose check looked at all bytes; every time must be none.
std::size_t checked_rows(const Report& report) {
  std::size_t checked = 0;
  for (const auto& series : report.series)
    for (const auto& row : series.rows)
      for (const auto& timing : row.timings) {
        if (!timing) continue;
        EXPECT_TRUE(std::isnan(timing->time)) << series.label;
        EXPECT_TRUE(timing->round_times.empty()) << series.label;
        if (!timing->check) continue;
        EXPECT_EQ(timing->check->wrong, 0U) << series.label;
        EXPECT_EQ(timing->check->exact_bytes, row.bytes) << series.label;
        ++checked;
      }
  return checked;
}

TEST_F(GpuRun, AllAlgorithmsOfAllCollectivesAreRightInStreamsAndGraphsByEnginesAndKernels) {
  auto wanted = request({0, 1, 1});
  wanted.collectives = bench::all_operations();
  wanted.gpus.issue = {"streams", "graphs"};
  wanted.gpus.copies = {"auto", "engine", "kernel"};
  const Report report = bench::run_sweep(wanted);
  EXPECT_TRUE(bench::all_right(report));
  EXPECT_GT(checked_rows(report), 300U);
  std::set<std::string> labels;
  for (const auto& series : report.series)
    if (series.collective == Collective::broadcast && series.spec == "chain")
      labels.insert(series.label);
  EXPECT_EQ(labels, (std::set<std::string>{
                        "chain [streams, copies=auto]", "chain [streams, copies=engine]",
                        "chain [streams, copies=kernel]", "chain [graphs, copies=auto]",
                        "chain [graphs, copies=engine]", "chain [graphs, copies=kernel]"}));
  EXPECT_EQ(std::count_if(report.skipped.begin(), report.skipped.end(),
                          [](const auto& skipped) { return skipped.label == "messages"; }),
            1);
}

TEST_F(GpuRun, StreamsLaunchNoGraphAndGraphsLaunchOneACall) {
  auto wanted = request({0, 1});
  wanted.algorithms = {"ring"};
  wanted.gpus.issue = {"streams"};
  (void)bench::run_sweep(wanted);
  EXPECT_EQ(fakecuda::Control::counters().graph_launches, 0U);
  wanted.gpus.issue = {"graphs"};
  (void)bench::run_sweep(wanted);
  EXPECT_GT(fakecuda::Control::counters().graph_launches, 10U);
  EXPECT_EQ(option<std::int64_t>("cuda_graphs"), 3) << "the program's own setting is back";
}

TEST_F(GpuRun, TypesAndOperatorsAreRight) {
  auto wanted = request({0, 1});
  wanted.algorithms = {"two_shot"};
  wanted.types = {all_element_types.begin(), all_element_types.end()};
  wanted.ops = {all_reduce_ops.begin(), all_reduce_ops.end()};
  wanted.sizes = {.begin = 1000, .end = 1000};
  wanted.exact_counts = true;
  const Report report = bench::run_sweep(wanted);
  EXPECT_TRUE(bench::all_right(report));
  EXPECT_EQ(checked_rows(report), 2 * wanted.types.size() * wanted.ops.size());
}

TEST_F(GpuRun, RanksGoRoundTheGpus) {
  auto wanted = request({2, 0});
  wanted.ranks = {1, 5};
  wanted.algorithms = {"auto"};
  const Report report = bench::run_sweep(wanted);
  EXPECT_TRUE(bench::all_right(report));
  ASSERT_TRUE(report.gpus);
  EXPECT_EQ(report.gpus->list.size(), 2U);
  EXPECT_EQ(wanted.gpus.devices_of(5), (std::vector<int>{2, 0, 2, 0, 2}));
  EXPECT_NE(bench::sharing_remark(wanted.gpus, 5).find("5 ranks on 2 GPUs"), std::string::npos);
  EXPECT_EQ(bench::sharing_remark(wanted.gpus, 2), "");
}

TEST_F(GpuRun, SpreadRunsAreCheckedToo) {
  auto wanted = request({0, 1});
  wanted.algorithms = {"ring"};
  wanted.spread = true;
  wanted.rounds = 2;
  EXPECT_EQ(checked_rows(bench::run_passes(wanted)), 4U);
}

TEST_F(GpuRun, NcclIsCheckedAloneAndBesideOurs) {
  const ScopedOption library("nccl_library", RINGSIDE_FAKENCCL "/usual/libnccl.so.2");
  auto wanted = request({0, 1, 2});
  wanted.collectives = bench::all_operations();
  wanted.backend = BackendKind::nccl;
  const Report alone = bench::run_sweep(wanted);
  EXPECT_TRUE(bench::all_right(alone));
  EXPECT_GT(checked_rows(alone), 30U);
  for (const auto& series : alone.series) {
    EXPECT_EQ(series.label, "nccl");
    EXPECT_EQ(series.detail, "NCCL 2.28.9");
    EXPECT_FALSE(series.peer);
  }
  wanted.backend = BackendKind::cuda;
  wanted.collectives = {Collective::all_reduce};
  wanted.algorithms = {"ring"};
  wanted.compare = {"nccl"};
  wanted.ops = {ReduceOp::sum, ReduceOp::avg};
  const Report beside = bench::run_sweep(wanted);
  EXPECT_TRUE(bench::all_right(beside));
  ASSERT_EQ(beside.series.size(), 2U);
  EXPECT_TRUE(beside.series[1].peer);
  for (const auto& row : beside.series[1].rows)  // its averages are not the definition's
    EXPECT_EQ(row.at(Placement::in_place)->check.has_value(), row.op == ReduceOp::sum);
}

TEST_F(GpuRun, WhereRanksShareAGpuNcclIsLeftOutWithItsReason) {
  const ScopedOption library("nccl_library", RINGSIDE_FAKENCCL "/usual/libnccl.so.2");
  auto wanted = request({0, 0});
  wanted.algorithms = {"ring"};
  wanted.compare = {"nccl"};
  const Report report = bench::run_sweep(wanted);
  EXPECT_EQ(report.series.size(), 1U);
  ASSERT_EQ(report.skipped.size(), 1U);
  EXPECT_EQ(report.skipped.front().label, "nccl");
  wanted.backend = BackendKind::nccl;
  wanted.compare = {};
  EXPECT_THROW((void)bench::run_sweep(wanted), Error);
}

TEST_F(GpuRun, AVirtualDeviceIsRefused) {
  auto wanted = request({0});
  wanted.gpus.allow_virtual = false;
  try {
    (void)bench::run_sweep(wanted);
    FAIL() << "measured";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "--backend cuda: a virtual device measures nothing");
  }
}

TEST_F(GpuRun, MessagesThatDoNotFitADeviceAreRefusedBeforeAnythingIsMeasured) {
  fakecuda::Configuration small;
  small.memory = std::size_t{1} << 20;
  fakecuda::Control::reset(small);
  auto wanted = request({0, 1, 1});
  wanted.sizes = {.begin = 8, .end = std::uint64_t{1} << 19, .factor = 4};
  try {
    (void)bench::run_sweep(wanted);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(std::string(error.what()).find("of the memory of GPU 1"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("--end"), std::string::npos) << error.what();
  }
  EXPECT_EQ(fakecuda::Control::counters().operations, 0U);
}

TEST_F(GpuRun, SettlingTakesAllGpusAndARankForEach) {
  bench::BenchRequest wanted;
  wanted.backend = BackendKind::cuda;
  wanted.ranks.clear();
  wanted.gpus.allow_virtual = true;
  bench::settle_gpus(wanted);
  EXPECT_EQ(wanted.gpus.devices, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(wanted.ranks, std::vector<int>{4});
}

TEST_F(GpuRun, ATuningTableSaysThatItsRowsAreOfGpus) {
  bench::TuneRequest wanted;
  wanted.backend = BackendKind::cuda;
  wanted.gpus = request({0, 1}).gpus;
  wanted.collectives = {Collective::all_gather};
  wanted.ranks = {2};
  wanted.sizes = {.begin = 1024, .end = 1024};
  wanted.algorithms = {"ring", "one_shot"};
  wanted.time = Seconds{0.05};
  const auto table = bench::tune(wanted, [](auto, auto, const auto&) {});
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows.front().backend, "cuda");
  EXPECT_NE(table.origin.machine.find("virtual device"), std::string::npos);
}

TEST_F(GpuRun, TheReportSaysWhatItWasMeasuredOn) {
  auto wanted = request({1, 0});
  wanted.algorithms = {"ring"};
  wanted.gpus.issue = {"streams", "graphs"};
  const auto text = bench::json_report(bench::run_sweep(wanted), false);
  const JsonDocument document(text, "report");
  const JsonValue root = document.root();
  EXPECT_EQ(root["kind"].text(), "not measured");
  EXPECT_EQ(root["config"]["backend"].text(), "cuda");
  const JsonValue gpus = root["gpus"];
  EXPECT_TRUE(gpus["virtual"].boolean());
  EXPECT_EQ(gpus["driver"].text(), "13.0");
  EXPECT_EQ(gpus["list"].items().size(), 2U);
  EXPECT_EQ(gpus["list"].items()[1]["name"].text(), "virtual device 1");
  EXPECT_EQ(root["config"]["devices"].items()[0]["device"].integer(), 1);
  EXPECT_EQ(root["config"]["devices"].items()[0]["device_hex"].text(),
            gpus["list"].items()[1]["pci_bus_id"].text());
  const auto algorithms = root["algorithms"].items();
  ASSERT_EQ(algorithms.size(), 2U);
  EXPECT_EQ(algorithms[1]["algorithm"].text(), "ring [graphs]");
  EXPECT_EQ(algorithms[1]["spec"].text(), "ring");
  EXPECT_EQ(algorithms[1]["issue"].text(), "graphs");
  for (const auto& result : root["results"].items()) {
    EXPECT_TRUE(result["out_of_place"]["time"].is_null());
    EXPECT_EQ(result["out_of_place"]["nwrong"].integer(), 0);
  }
}

TEST_F(GpuRun, ARequestIsReadAsItWasWritten) {
  auto wanted = request({3, 1, 1});
  wanted.gpus.issue = {"streams"};
  wanted.gpus.copies = {"engine", "kernel"};
  const auto text = dump_json(bench::request_to_json(wanted));
  const JsonDocument document(text, "request");
  const auto read = bench::request_from_json(document.root());
  EXPECT_EQ(read.backend, BackendKind::cuda);
  EXPECT_EQ(read.gpus.devices, wanted.gpus.devices);
  EXPECT_EQ(read.gpus.issue, wanted.gpus.issue);
  EXPECT_EQ(read.gpus.copies, wanted.gpus.copies);
}

TEST_F(GpuRun, ARunThatMeasuredNothingIsNotCompared) {
  auto wanted = request({0, 1});
  wanted.algorithms = {"ring"};
  wanted.spread = true;
  const auto text = bench::json_report(bench::run_passes(wanted), false);
  try {
    (void)bench::run_from_json(text, "run.json");
    FAIL() << "read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("virtual devices"), std::string::npos) << error.what();
  }
}

TEST_F(GpuRun, RunsOfOtherGpusOrOtherWaysAreNotCompared) {
  bench::MeasuredRun host, streams, graphs;
  streams.request = request({0, 1});
  streams.request.gpus.issue = {"streams"};
  graphs.request = request({0, 1});
  EXPECT_NO_THROW(bench::check_same_conditions(graphs, graphs));
  EXPECT_THROW(bench::check_same_conditions(streams, graphs), Error);
  EXPECT_THROW(bench::check_same_conditions(host, graphs), Error);
}

}  // namespace
}  // namespace ringside::tests
