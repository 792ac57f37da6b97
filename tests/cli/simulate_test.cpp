// SPDX-License-Identifier: MIT
/// `ringside simulate`, as a user calls it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ringside/tests/cli/ringside_program.hpp"

namespace ringside::tests {
namespace {

using nlohmann::json;

ProgramResult simulate(std::vector<std::string> words) {
  words.insert(words.begin(), "simulate");
  return ringside_program(std::move(words));
}

json simulated(std::vector<std::string> words) {
  words.insert(words.end(), {"--format", "json"});
  const auto result = simulate(std::move(words));
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(result.error, "");
  return json::parse(result.output);
}

double seconds(const json& report, std::size_t row = 0) {
  return report.at("rows").at(row).at("seconds");
}

TEST(Simulate, TellsTimeBandwidthsBoundAndLimitOfEveryAlgorithm) {
  const auto result = simulate({"--topo", "4gpu-pcie4-two-sockets", "--sizes", "64M"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.error, "");
  for (const char* part :
       {"simulated", "4gpu-pcie4-two-sockets", "link model", "no plan can beat", "numa0 -> numa1",
        "busbw", "64 MiB", "ring", "naive", "hierarchical", "chain"})
    EXPECT_TRUE(contains(result.output, part)) << part << "\n" << result.output;
}

TEST(Simulate, RowsForProgramsHoldTogether) {
  const auto report = simulated(
      {"--topo", "8gpu-two-switches", "--sizes", "1M..4M", "--algorithm", "ring,two_shot"});
  EXPECT_EQ(report.at("kind"), "simulated");
  ASSERT_EQ(report.at("rows").size(), 6U);
  for (const auto& row : report.at("rows")) {
    const double time = row.at("seconds");
    EXPECT_GE(time, row.at("bound_seconds").get<double>());
    EXPECT_NEAR(row.at("algbw").get<double>(), row.at("bytes").get<double>() / time / 1e9, 1e-6);
    EXPECT_NEAR(row.at("busbw").get<double>(), row.at("algbw").get<double>() * 2 * 7 / 8, 1e-9);
    double spent = 0;
    for (const auto& part : row.at("time_spent")) spent += part.at("seconds").get<double>();
    EXPECT_NEAR(spent, time, 1e-9 * time);
  }
  const auto csv = simulate({"--topo", "8gpu-two-switches", "--sizes", "1M..4M", "--algorithm",
                             "ring,two_shot", "--format", "csv"});
  EXPECT_EQ(lines_of(csv.output).size(), 7U);
}

TEST(Simulate, SmallMessagesGetARange) {
  const auto report =
      simulated({"--topo", "dgx-h100", "--sizes", "8K,64K", "--algorithm", "one_shot"});
  const auto& small = report.at("rows").at(0);
  EXPECT_LT(small.at("seconds_least").get<double>(), small.at("seconds").get<double>());
  EXPECT_GT(small.at("seconds_most").get<double>(), small.at("seconds").get<double>());
  EXPECT_FALSE(report.at("rows").at(1).contains("seconds_least"));
  EXPECT_TRUE(contains(simulate({"--topo", "dgx-h100", "--sizes", "8K"}).output, " us to "));
}

TEST(Simulate, EveryCollectiveRootPlacementAndTypeIsServed) {
  for (const std::string collective : {"all_reduce", "reduce_scatter", "all_gather", "broadcast",
                                       "reduce", "gather", "scatter", "all_to_all"}) {
    const auto report = simulated({"--topo", "4gpu-pcie4-one-root", "--sizes", "1M", "--type",
                                   "half", "--collective", collective});
    EXPECT_FALSE(report.at("rows").empty()) << collective;
  }
  const auto rooted = simulated({"--topo", "4gpu-pcie4-x4-slot", "--collective", "broadcast",
                                 "--root", "3", "--in-place", "--sizes", "1M"});
  EXPECT_EQ(rooted.at("root"), 3);
  EXPECT_TRUE(contains(rooted.at("bound"), "GPU3")) << rooted.at("bound");
}

TEST(Simulate, RanksStandOnTheGpusThatAreNamed) {
  const std::vector<std::string> words = {
      "--topo", "4gpu-pcie4-two-sockets", "--sizes", "16M", "--algorithm", "ring"};
  auto near = words, far = words, shared = words;
  near.insert(near.end(), {"--gpus", "0,1"});
  far.insert(far.end(), {"--gpus", "0,2"});
  shared.insert(shared.end(), {"--gpus", "0,0,1,1"});
  EXPECT_LT(seconds(simulated(near)), seconds(simulated(far)));
  EXPECT_EQ(simulated(shared).at("ranks"), 4);
}

TEST(Simulate, WhatIfAndSetChangeTheMachine) {
  const std::vector<std::string> words = {"--topo", "4gpu-pcie4-one-root", "--sizes",
                                          "16M",    "--algorithm",         "ring"};
  const double as_it_is = seconds(simulated(words));
  for (const std::vector<std::string>& change :
       {std::vector<std::string>{"--what-if", "p2p=off"},
        {"--what-if", "slot:GPU2=x4"},
        {"--set", "pcie4.x16.bandwidth=13"},
        {"--set", "GPU1-host0=13"},
        {"--what-if", "acs=on", "--what-if", "pcie=gen3"}}) {
    auto changed = words;
    changed.insert(changed.end(), change.begin(), change.end());
    const auto report = simulated(changed);
    EXPECT_GT(seconds(report), 1.2 * as_it_is) << change.back();
    EXPECT_FALSE(report.at("changes").empty());
  }
  auto option = words;
  option.insert(option.end(), {"--set", "timeout=10"});
  EXPECT_EQ(seconds(simulated(option)), as_it_is);
  EXPECT_TRUE(simulated(option).at("changes").empty());
}

TEST(Simulate, LinksAndCriticalPathAreToldWhenAskedFor) {
  const std::vector<std::string> words = {"--topo",  "4gpu-pcie4-x4-slot", "--sizes",
                                          "16M",     "--algorithm",        "ring",
                                          "--links", "--critical-path"};
  const auto row = simulated(words).at("rows").at(0);
  EXPECT_FALSE(row.at("resources").empty());
  double end = 0;
  for (const auto& piece : row.at("critical_path")) {
    EXPECT_EQ(piece.at("begin").get<double>(), end);
    end = piece.at("end");
  }
  EXPECT_DOUBLE_EQ(end, row.at("seconds").get<double>());
  const auto text = simulate(words).output;
  EXPECT_TRUE(contains(text, "critical path of ring")) << text;
  EXPECT_TRUE(contains(text, "GPU3 - host0 both ways")) << text;
}

TEST(Simulate, TimelineIsAFileThatChromeReads) {
  const std::string path =
      testing::TempDir() + "simulate_timeline_" + std::to_string(::getpid()) + ".json";
  const auto result = simulate(
      {"--topo", "dgx1v", "--algorithm", "ring:slices=2", "--sizes", "1M", "--timeline", path});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  std::ifstream file(path);
  const auto trace = json::parse(file);
  EXPECT_GT(trace.at("traceEvents").size(), 8U * 14U * 2U);
  EXPECT_TRUE(contains(trace.at("otherData").at("simulated"), "ring:slices=2"));
  std::remove(path.c_str());
}

TEST(Simulate, FilesAndStandardInputNameMachinesToo) {
  const auto matrix = ringside_program({"topo", "4gpu-pcie4-one-root", "--format", "json"}).output;
  const auto result = ringside_program(
      {"simulate", "--topo", "-", "--algorithm", "ring", "--sizes", "1M", "--format", "json"},
      {.text = matrix});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(json::parse(result.output).at("ranks"), 4);
}

TEST(Simulate, SaysWhatItAssumesOfAPastedMatrix) {
  const ProgramInput matrix = {.text = "\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n"};
  const std::vector<std::string> words = {"simulate", "--topo",  "-", "--algorithm",
                                          "ring",     "--sizes", "1M"};
  const auto text = ringside_program(words, matrix).output;
  EXPECT_TRUE(contains(text, "# assumed, not told: PCIe 4.0 x16 (2 links)")) << text;
  EXPECT_TRUE(contains(text, "--what-if pcie=genN")) << text;
  EXPECT_TRUE(contains(text, "bound (if what is assumed is so)")) << text;
  auto as_json = words;
  as_json.insert(as_json.end(), {"--format", "json"});
  EXPECT_EQ(json::parse(ringside_program(as_json, matrix).output).at("assumed").at(0),
            "PCIe 4.0 x16 (2 links)");
  EXPECT_EQ(simulated({"--topo", "dgx-a100", "--algorithm", "ring", "--sizes", "1M"})
                .at("assumed")
                .size(),
            0U);
}

TEST(Simulate, SaysWhatAWhatIfChangesNothingOf) {
  const std::vector<std::string> words = {"--topo",  "dgx-a100", "--algorithm", "ring",
                                          "--sizes", "1M",       "--what-if",   "p2p=off"};
  EXPECT_TRUE(contains(simulate(words).output, "what if p2p=off (changes nothing here)"));
}

TEST(Simulate, NotesWhereARingLeavesNvlinkAndWhosePlansAreStaged) {
  const auto nvlink = simulated({"--topo", "dgx1v", "--algorithm", "ring", "--sizes", "1M"});
  EXPECT_TRUE(contains(nvlink.at("notes").at(0), "leaves NVLink from GPU3 to GPU4"));
  const auto staged = simulate({"--topo", "4gpu-pcie4-one-root", "--algorithm", "ring", "--sizes",
                                "1M", "--what-if", "p2p=off"})
                          .output;
  EXPECT_TRUE(contains(staged, "# note: without peer access these plans copy")) << staged;
  EXPECT_TRUE(contains(staged, "without what going through the host's memory costs")) << staged;
}

TEST(Simulate, PlanFilesAreProvenFirst) {
  const std::string plans = RINGSIDE_TEST_DATA "/plans/";
  const std::vector<std::string> words = {
      "--topo", "4gpu-pcie4-one-root", "--ranks", "2", "--sizes", "1M", "--algorithm"};
  auto right = words, wrong = words;
  right.push_back(plans + "pair_right.json");
  wrong.push_back(plans + "pair_wrong.json");
  EXPECT_GT(seconds(simulated(right)), 0);
  EXPECT_EQ(simulate(wrong).exit_code, 2);
}

TEST(Simulate, HelpNamesEveryOptionAndEveryWhatIf) {
  const auto help = simulate({"--help"}).output;
  for (const char* part :
       {"--topo",  "--live",       "--model",         "--set",      "--what-if", "--algorithm",
        "--sizes", "--collective", "--ranks",         "--gpus",     "--root",    "--in-place",
        "--type",  "--links",      "--critical-path", "--timeline", "--format",  "--plugin",
        "p2p=off", "p2p=on",       "nvlink=genN",     "slot:GPU=xN"})
    EXPECT_TRUE(contains(help, part)) << part;
}

TEST(Simulate, RefusesWhatItCannotDoInOneLine) {
  const std::vector<std::string> machine = {"--topo", "4gpu-pcie4-one-root"};
  struct Case {
    std::vector<std::string> words;
    std::string_view expected;
    bool of_machine = true;
  };
  const std::vector<Case> table = {
      {{}, "--topo is required", false},
      {{"--topo", "no-such-machine"}, "no-such-machine", false},
      {{"--live"}, "--live"},
      {{"--algorithm", "rings"}, "did you mean \"ring\""},
      {{"--algorithm", "ring,ring"}, "twice"},
      {{"--algorithm", "ring,all"}, "stands alone"},
      {{"--algorithm", "auto"}, "choose"},
      {{"--algorithm", "hierarchical:groups=0-1/2-3-4"}, ""},
      {{"--algorithm", "bruck"}, "all_reduce"},
      {{"--collective", "all_redcue"}, "did you mean \"all_reduce\""},
      {{"--collective", "barrier"}, "barrier"},
      {{"--collective", "all_to_all", "--in-place"}, "in place"},
      {{"--root", "1"}, "no root"},
      {{"--root", "4", "--collective", "reduce"}, "--root"},
      {{"--ranks", "5"}, "--gpus"},
      {{"--gpus", "0,4"}, "no GPU 4"},
      {{"--gpus", "0;1"}, "--gpus"},
      {{"--gpus", "0,1", "--ranks", "2"}, "--ranks"},
      {{"--gpus", ""}, "--gpus"},
      {{"--ranks", "1"}, "a single rank"},
      {{"--sizes", "3"}, "no element of float32"},
      {{"--sizes", "0,1M"}, "no element of float32"},
      {{"--sizes", "1X"}, "--sizes"},
      {{"--sizes", "4M..1M"}, "before"},
      {{"--sizes", ""}, "--sizes"},
      {{"--type", "float17"}, "--type"},
      {{"--timeline", "x.json"}, "one algorithm and one size"},
      {{"--timeline", "/no/such/folder/x.json", "--algorithm", "ring", "--sizes", "1M"},
       "/no/such"},
      {{"--what-if", "slot:GPU9=x4"}, "GPU9"},
      {{"--what-if", "magic"}, "magic"},
      {{"--what-if", "slot:GPU1=x3"}, "1, 2, 4, 8, 16, 32"},
      {{"--what-if", "p2p=on", "--what-if", "p2p=off"}, "contradict"},
      {{"--set", "pcie.kernel=7"}, "from 0.001 to 1"},
      {{"--save-model", "x.json"}, "--fit"},
      {{"--set", "overhead.opp=1"}, "overhead.op"},
      {{"--set", "overhead.op=fast"}, "overhead.op"},
      {{"--model", "toaster"}, "toaster"},
      {{"--model", "/no/such/model.json"}, "/no/such/model.json"},
  };
  for (const auto& [words, expected, of_machine] : table) {
    auto all = of_machine ? machine : std::vector<std::string>();
    all.insert(all.end(), words.begin(), words.end());
    SCOPED_TRACE(testing::PrintToString(words));
    expect_refused(simulate(all), expected);
  }
}

}  // namespace
}  // namespace ringside::tests
