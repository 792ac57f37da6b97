// SPDX-License-Identifier: MIT
/// `ringside bench` as a maker of tuning tables, a judge of `auto` and a comparer of runs.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "ringside/base/file.hpp"
#include "ringside/base/json.hpp"
#include "ringside/bench/regret.hpp"
#include "ringside/collectives/selector/tuning.hpp"
#include "ringside/tests/bench/bench_program.hpp"

namespace ringside::tests {
namespace {

std::string temporary(const std::string& name) {
  return testing::TempDir() + "ringside_modes_" + name;
}

/// A run that a later one can be compared with, in a file.
std::string spread_run(const std::string& name) {
  std::string path = temporary(name);
  const auto result = bench({"-a", "ring,two_shot", "-b", "8", "-e", "512", "--time", "12ms",
                             "--spread", "--output", path});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  return path;
}

TEST(BenchModes, EveryBadCommandLineIsOneLineAndExitCode2) {
  const std::string no_run = temporary("no_run.json");
  write_file(no_run, "{\"ringside_bench\": 1}");
  expect_all_refused({
      {{"--tune", "-", "--compare", "openmpi"}, "--compare has no meaning beside --tune"},
      {{"--tune", "-", "--format", "json"}, "--format has no meaning beside --tune"},
      {{"--tune", "-", "--time", "1s"}, "--time has no meaning beside --tune"},
      {{"--tune", "-", "--tune-time", "soon"}, "--tune-time"},
      {{"--tune", "/nonexistent/folder/t.json"}, "/nonexistent/folder/t.json"},
      {{"--tune-time", "3s"}, "needs --tune"},
      {{"--regret", "--summary"}, "--summary has no meaning beside --regret"},
      {{"--spread", "--format", "table"}, "json or csv"},
      {{"--against", no_run}, "needs --compare"},
      {{"--compare", "/nonexistent.json"}, "/nonexistent.json"},
      {{"--compare", no_run}, "earlier version"},
      {{"--compare", no_run, "--begin", "8"}, "--begin has no meaning beside --compare"},
      {{"--compare", no_run, "--format", "csv"}, "--format"},
      {{"--tune", "-", "--collective", "barrier"}, "--tune: barrier has no algorithms"},
      {{"--tune", "-", "--tune-time", "1ms"}, "take 14.4 s at least"},
      {{"--tune", ""}, "--tune: expected something"},
      {{"--regret", "--collective", "barrier"}, "--regret: barrier has no algorithms"},
      {{"--regret", "--collective", "sendrecv"}, "--regret: sendrecv has no algorithms"},
      {{"--compare", ""}, "--compare: expected something"},
      {{"--compare", "./old"}, "ends in .json"},
      {{"--output", ""}, "--output: expected something"},
      {{"--preflight", "--ranks", "2"}, "--ranks has no meaning beside --preflight"},
      {{"--preflight", "--backend", "host"}, "cuda, or none, beside --preflight"},
      {{"--preflight", "--backend", "nccl"}, "cuda, or none, beside --preflight"},
      {{"--preflight", "--devices", "0"}, "set CUDA_VISIBLE_DEVICES to choose GPUs"},
      {{"--preflight", "-g", "1"}, "set CUDA_VISIBLE_DEVICES to choose GPUs"},
      {{"--preflight", "--format", "csv"}, "--format: expected text or json"},
      {{"--preflight", "--preflight-time", "soon"}, "--preflight-time"},
      {{"--preflight", "--preflight-time", "1ms"},
       "--preflight-time: expected 1 s at least with --preflight, got \"1ms\""},
      {{"--preflight", "--timeout", "0"}, "--timeout"},
      {{"--preflight", "--timeout", "1ns"}, "--timeout: expected 1 s at least"},
      {{"--preflight", "--output", "/nonexistent/folder/p.json"}, "/nonexistent/folder/p.json"},
      {{"--quick"}, "--quick: needs --preflight"},
      {{"--preflight-time", "3s"}, "--preflight-time: needs --preflight"},
      {{"-o", "sum,sum"}, "every one once"},
      {{"-d", "float,float32"}, "every one once"},
      {{"--collective", "all,broadcast"}, "all stands alone"},
  });
}

TEST(BenchModes, RegretOfAllIsOfEverythingThatHasAlgorithms) {
  const auto run = bench({"--regret", "--collective", "all", "-a", "direct,linear,two_shot", "-b",
                          "64", "-e", "64", "--time", "1ms", "--placement", "out"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  for (const auto* name : {"all_reduce ", "all_to_all ", "scatter "})
    EXPECT_NE(run.output.find(name), std::string::npos) << run.output;
}

TEST(BenchModes, TuneSaysHowLongItTakesAndWritesATableThatAutoObeys) {
  const std::string path = temporary("table.json");
  const auto made =
      bench({"--tune", path, "--tune-time", "200ms", "--collective", "all_reduce,broadcast",
             "--ranks", "2", "-e", "512", "-f", "64", "-a", "chain"},
            {.environment = {"RINGSIDE_PROGRESS=always"}});
  EXPECT_EQ(made.exit_code, 0) << made.error;
  EXPECT_EQ(made.output, "");
  EXPECT_NE(made.error.find("tuning takes about 0 s, for 2 collectives, 2 ranks, 2 sizes"),
            std::string::npos)
      << made.error;
  const TuningTable table = tuning_from_json(read_file(path), path);
  ASSERT_EQ(table.rows.size(), 3U) << "all_reduce in both placements, broadcast";
  for (const auto& row : table.rows) EXPECT_EQ(row.ranges.front().spec, "chain");

  const auto run = bench({"-a", "auto", "-b", "64", "-e", "64", "-n", "2", "--format", "json"},
                         {.environment = {"RINGSIDE_TUNING=" + path}});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_NE(run.output.find("\"chain\""), std::string::npos) << run.output;
}

TEST(BenchModes, ATableOnStandardOutputIsNothingButTheTable) {
  const auto made = bench({"--tune", "-", "--tune-time", "50ms", "--collective", "reduce",
                           "--ranks", "2", "-e", "8", "-a", "linear"});
  EXPECT_EQ(made.exit_code, 0) << made.error;
  EXPECT_EQ(made.error, "");
  EXPECT_EQ(tuning_from_json(made.output, "output").rows.size(), 1U);
}

TEST(BenchModes, ABadTuningTableIsOneLineAndExitCode2) {
  const std::string path = temporary("bad.json");
  write_file(path, "{\"ringside_tuning\": 1, \"rows\": []}");
  const auto run =
      bench({"-a", "auto", "-e", "8", "-n", "2"}, {.environment = {"RINGSIDE_TUNING=" + path}});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(lines_of(run.error).size(), 1U) << run.error;
  EXPECT_NE(run.error.find(path), std::string::npos) << run.error;
  EXPECT_NE(run.error.find("origin"), std::string::npos) << run.error;
}

TEST(BenchModes, RegretIsOfAutoAgainstTheFastestForced) {
  const auto run = bench({"--regret", "-a", "naive,two_shot", "-b", "64", "-e", "64", "--time",
                          "5ms", "--placement", "in"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  const auto lines = lines_of(run.output);
  ASSERT_EQ(lines.size(), 5U) << run.output;  // two of title, a row, two of summary
  EXPECT_TRUE(lines[2].starts_with("all_reduce")) << lines[2];
  EXPECT_TRUE(lines[3].starts_with("rows that differ: ")) << lines[3];
  EXPECT_TRUE(lines[4].find(" 1 rows, median regret ") != std::string::npos) << lines[4];
}

TEST(BenchModes, TwoRunsAreComparedWithoutMeasuring) {
  const std::string path = spread_run("old.json");
  const auto same = bench({"--compare", path, "--against", path});
  EXPECT_EQ(same.exit_code, 0) << same.error;
  EXPECT_NE(same.output.find("rows: 0 slower, 0 faster, "), std::string::npos) << same.output;
  const auto json = bench({"--compare", path, "--against", path, "--format", "json"});
  const JsonDocument document(json.output, "output");
  EXPECT_FALSE(document.root()["slower"].boolean());
  EXPECT_EQ(document.root()["rows"].size(), 12U);
}

TEST(BenchModes, AnOldRunIsMeasuredAgainAndCompared) {
  const auto now = bench({"--compare", spread_run("again.json")});
  if (now.exit_code == 2) {  // the cores have moved
    EXPECT_NE(now.error.find("no row could be compared"), std::string::npos) << now.error;
    return;
  }
  EXPECT_NE(now.output.find("over all rows: "), std::string::npos) << now.output;
  EXPECT_EQ(lines_of(now.output).size(), 3U + 12U + 2U) << now.output;
}

TEST(BenchModes, ARunWhoseRoundsAreNotSpreadIsRefused) {
  const std::string path = temporary("plain.json");
  const auto run =
      bench({"-a", "ring", "-b", "8", "-e", "8", "-n", "2", "--format", "json", "--output", path});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  const auto compared = bench({"--compare", path});
  EXPECT_EQ(compared.exit_code, 2);
  EXPECT_NE(compared.error.find("--spread"), std::string::npos) << compared.error;
}

// --- the arithmetic of regret --------------------------------------------------------------------

bench::Report report_of(const std::vector<double>& of_auto, const std::vector<double>& of_best) {
  bench::Report report;
  for (const auto& [label, times] :
       {std::pair{"auto", of_auto}, std::pair{"best", of_best},
        std::pair{"slow", std::vector<double>(of_best.size(), 1000.0)}}) {
    bench::Timing timing;
    timing.time = times[times.size() / 2];
    timing.round_times = times;
    bench::Series series;
    series.label = label;
    series.rows.push_back({.bytes = 64, .timings = {timing, std::nullopt}});
    report.series.push_back(std::move(series));
  }
  return report;
}

TEST(Regret, IsTheMedianOfSameRoundRatiosAndToldApartByTheirInterval) {
  // The machine doubles its speed half way: the ratios of rounds do not notice.
  const auto regrets =
      bench::regrets_of(report_of({22, 22.2, 22, 11, 11, 11.1, 11}, {20, 20, 20, 10, 10, 10, 10}));
  ASSERT_EQ(regrets.size(), 1U);
  EXPECT_EQ(regrets[0].best, "best");
  EXPECT_NEAR(regrets[0].ratio, 1.1, 1e-12);
  EXPECT_TRUE(regrets[0].told());
  EXPECT_NE(bench::regret_table(regrets).find("rows that differ: 1 rows, median regret 10.0 %"),
            std::string::npos);

  const auto two = bench::regrets_of(report_of({22, 22}, {20, 20}));
  EXPECT_FALSE(two[0].told()) << "two rounds tell nothing";
  EXPECT_NE(bench::regret_table(two).find("(too few rounds)"), std::string::npos);

  const auto noise =
      bench::regrets_of(report_of({10, 13, 10, 9, 12, 10, 11}, {11, 10, 10, 10, 10, 11, 10}));
  EXPECT_FALSE(noise[0].told());
  EXPECT_NE(bench::regret_table(noise).find("rows that differ: none"), std::string::npos);
  EXPECT_NE(bench::regret_table(noise).find("as equal: 1 rows, median regret 0.0 %, worst 0.0 %"),
            std::string::npos)
      << bench::regret_table(noise);
}

}  // namespace
}  // namespace ringside::tests
