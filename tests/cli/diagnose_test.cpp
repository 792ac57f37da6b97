// SPDX-License-Identifier: MIT
/// `ringside diagnose` as people use it: the stories of tests/data/diagnose/stories.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ringside/base/file.hpp"
#include "ringside/tests/cli/ringside_program.hpp"

namespace ringside::tests {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<std::string> files_of(const std::string& story) {
  std::vector<std::string> files;
  for (const auto& entry :
       fs::directory_iterator(fs::path(RINGSIDE_TEST_DATA) / "diagnose/stories" / story))
    files.push_back(entry.path().string());
  std::ranges::sort(files);
  return files;
}

std::string file_that_begins(const std::string& start) {
  const auto path = fs::path(RINGSIDE_TEST_DATA) / start;
  for (const auto& entry : fs::directory_iterator(path.parent_path()))
    if (entry.path().filename().string().starts_with(path.filename().string()) &&
        entry.path().extension() == ".txt")
      return entry.path().string();
  return {};
}

ProgramResult diagnose(std::vector<std::string> words, const ProgramInput& input = {}) {
  words.insert(words.begin(), "diagnose");
  return ringside_program(std::move(words), input);
}

ProgramResult diagnose_story(const std::string& story, const std::vector<std::string>& words = {}) {
  auto all = files_of(story);
  all.insert(all.end(), words.begin(), words.end());
  return diagnose(std::move(all));
}

void expect_says(const std::string& text, const std::vector<std::string>& all_words) {
  for (const auto& words : all_words)
    EXPECT_NE(text.find(words), std::string::npos) << words << "\nis not in\n" << text;
}

TEST(Diagnose, CardsWithoutPeerAccessStageByKernel) {
  const auto result = diagnose_story("1-4x4090-without-p2p");
  EXPECT_EQ(result.exit_code, 1) << result.error;
  expect_says(result.output, {"NCCL_SHM_USE_CUDA_MEMCPY=1", "D12", "D05", "SHM/direct/direct",
                              "GNS", "at the measured rate", "when mended", "predicted"});
}

TEST(Diagnose, AcsIsCertainWhereItsBridgesAreBetweenGpus) {
  const auto result = diagnose_story("3-acs-behind-one-switch");
  EXPECT_EQ(result.exit_code, 1);
  expect_says(result.output, {"ACS sends traffic between GPUs up", "certain", "ReqRedir+", "setpci",
                              "when mended", "predicted"});
}

TEST(Diagnose, PeerAccessThatIsNotUsed) {
  const auto result = diagnose_story("4-peer-access-not-used");
  EXPECT_EQ(result.exit_code, 1);
  expect_says(result.output, {"NCCL_P2P_LEVEL=SYS", "D10", "55.8 GB/s", "37.2 GB/s", "measured"});
}

TEST(Diagnose, ARingThatCrossesTooOftenIsPricedInBothOrders) {
  const auto result =
      json::parse(diagnose_story("5-wrong-ring-order", {"--format", "json"}).output);
  const auto& finding = result.at("findings").at(0);
  EXPECT_EQ(finding.at("id"), "D42");
  EXPECT_EQ(finding.at("ring_order"), json({0, 1, 2, 3}));
  EXPECT_GT(finding.at("cost").at("as_is_seconds_predicted").get<double>(),
            1.2 * finding.at("cost").at("mended_seconds_predicted").get<double>());
}

TEST(Diagnose, ACardInANarrowSlotIsPricedAtTheMeasuredRate) {
  const auto result = diagnose_story("2-one-card-in-an-x4-slot");
  EXPECT_EQ(result.exit_code, 1);
  expect_says(result.output, {"GPU3 uses 4 lanes of 16", "certain", "at the measured rate",
                              "when mended", "(predicted)"});
}

/// The matrix has no addresses, and the list is cut.
TEST(Diagnose, WhatCannotBePlacedIsSaid) {
  const auto folder = fs::path(RINGSIDE_TEST_DATA) / "diagnose/rules/d20-certain-one-gpu-of-a-list";
  const auto result = diagnose({(folder / "topo.txt").string(), (folder / "query.txt").string()});
  EXPECT_EQ(result.exit_code, 1);
  expect_says(result.output, {"lists 1 of 4 GPUs", "the GPU at 00000000:61:00.0 uses 4 lanes"});
}

TEST(Diagnose, ARingThatLeavesNvlinkIsPricedOnItsGpus) {
  const auto report =
      json::parse(diagnose_story("6-nvlink-pairs-left-by-the-ring", {"--format", "json"}).output);
  const auto& finding = report.at("findings").at(0);
  EXPECT_EQ(finding.at("id"), "D27");
  EXPECT_EQ(finding.at("cost").at("gpus"), 3);
  EXPECT_GT(finding.at("cost").at("as_is_seconds_measured").get<double>(),
            1.3 * finding.at("cost").at("mended_seconds_predicted").get<double>());
}

TEST(Diagnose, AMachineThatIsHiddenIsTold) {
  const auto result = diagnose_story("7-virtual-machine");
  EXPECT_EQ(result.exit_code, 1);
  expect_says(result.output, {"D30", "likely", "NCCL_TOPO_FILE", "KVM"});
}

TEST(Diagnose, WritesTheRingThatAFindingAsksFor) {
  const std::string file = testing::TempDir() + "ring_" + std::to_string(::getpid()) + ".xml";
  EXPECT_EQ(diagnose_story("5-wrong-ring-order", {"--nccl-graph", file}).exit_code, 1);
  const auto graph = read_file(file);
  fs::remove(file);
  EXPECT_LT(graph.find("0x1"), graph.find("0x2")) << graph;
  const auto none = diagnose_story("8-healthy-dgx", {"--nccl-graph", file});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(std::ranges::count(none.error, '\n'), 1);
}

std::string data_file(const std::string& name) {
  return (fs::path(RINGSIDE_TEST_DATA) / name).string();
}

TEST(Diagnose, MoreThanTheTopologyCarriesIsNotHealthy) {
  for (const auto& [measured, topology] :
       {std::pair("corpus/pairs/045", "diagnose/stories/7-virtual-machine/topo.txt")}) {
    const auto pairs = file_that_begins(measured);
    const auto result = diagnose({pairs, data_file(topology)});
    EXPECT_EQ(result.output.find("Healthy"), std::string::npos) << result.output;
  }
}

TEST(Diagnose, NothingIsPredictedWhereNvlinkIsNotTold) {
  const auto folder = data_file("diagnose/rules/d38-never-nvlink-not-listed/");
  const auto result = diagnose({folder + "topo.txt", folder + "perf.txt"});
  expect_says(result.output, {"measured (", "nvidia-smi topo -m", "list no NVLink"});
  EXPECT_EQ(result.output.find("predicted "), std::string::npos) << result.output;
}

TEST(Diagnose, WhatWasMeasuredIsNotDeniedWhereThereIsNothingToCompareItWith) {
  const auto result = diagnose({file_that_begins("corpus/perf/028")});
  expect_says(result.output, {"nothing to compare it with", "GB/s of bus bandwidth"});
  EXPECT_EQ(result.output.find("Nothing was measured"), std::string::npos);
}

TEST(Diagnose, OnePairIsNotTheMachine) {
  const auto folder = data_file("diagnose/stories/6-nvlink-pairs-left-by-the-ring/");
  const ProgramInput two{
      "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n"
      "   D\\D     0      1\n     0 800.00  11.00\n     1  11.00 800.00\n"};
  const auto result = diagnose({folder + "topo.txt", "-"}, two);
  EXPECT_EQ(result.output.find("Healthy"), std::string::npos) << result.output;
}

TEST(Diagnose, HealthIsAnAnswer) {
  const auto result = diagnose_story("8-healthy-dgx");
  EXPECT_EQ(result.exit_code, 0) << result.output << result.error;
  expect_says(result.output, {"Healthy: within ", "(measured against predicted)"});
}

/// Whether a text with a rate or a time in it says where they come from.
bool labels_its_figures(const std::string& text) {
  const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
  return (!has(" GB/s") && !has(" ms")) || has("measured") || has("predicted");
}

TEST(Diagnose, EveryRateAndTimeIsMeasuredOrPredicted) {
  for (const char* story :
       {"1-4x4090-without-p2p", "2-one-card-in-an-x4-slot", "3-acs-behind-one-switch",
        "4-peer-access-not-used", "5-wrong-ring-order", "6-nvlink-pairs-left-by-the-ring",
        "7-virtual-machine"}) {
    const auto report = json::parse(diagnose_story(story, {"--format", "json"}).output);
    for (const auto& finding : report.at("findings")) {
      for (const char* key : {"why", "fix"})
        EXPECT_TRUE(labels_its_figures(finding.at(key).get<std::string>())) << finding.at(key);
      const auto cost = finding.value("cost", json::object());
      for (const auto& [key, value] : cost.items())
        EXPECT_TRUE(key.ends_with("_predicted") || key.ends_with("_measured") ||
                    key == "mended_by" || key == "gpus" || key == "gpus_as_is")
            << key;
    }
    const auto text = diagnose_story(story).output;
    std::size_t at = 0;
    while ((at = text.find("   cost", at)) != std::string::npos) {
      const auto end = text.find("\n   ", at);  // where the next label is
      EXPECT_TRUE(labels_its_figures(text.substr(at, end - at + 200))) << text.substr(at, 200);
      ++at;
    }
  }
}

TEST(Diagnose, AdvisesForAModelAndItsStep) {
  const auto result =
      diagnose_story("1-4x4090-without-p2p", {"--model-size", "350M", "--step-time", "250ms"});
  expect_says(result.output,
              {"350 million parameters", "float32", "bfloat16", "accumulate ", "(predicted)"});
  EXPECT_EQ(diagnose_story("8-healthy-dgx", {"--model-size", "350M"}).exit_code, 2);
  EXPECT_EQ(diagnose_story("8-healthy-dgx", {"--model-size", "big", "--step-time", "1s"}).exit_code,
            2);
}

TEST(Diagnose, TakesStandardInputAndCountsWhatItDoesNotKnow) {
  const auto result =
      diagnose({"-"}, {.text = "hello\n\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n"
                               "what is this\n"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  expect_says(result.output, {"standard input", "2 of 5 lines not understood",
                              "Nothing was measured", "What would help most"});
}

TEST(Diagnose, EndsWithWhatWouldTellTheFastestWhereAMachineIsKnown) {
  const auto matrix =
      diagnose({"-", "--size", "64M"}, {.text = "\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n"});
  expect_says(matrix.output, {"GRAPH,ENV YOUR_PROGRAM"});
#ifdef RINGSIDE_WITH_BENCH
  const std::string onward = "What would be fastest here (simulated): ringside choose --topo ";
  EXPECT_TRUE(matrix.output.ends_with("\n" + onward + "FILE --size 64M\n")) << matrix.output;
  EXPECT_TRUE(diagnose({"4gpu-pcie4-two-sockets"})
                  .output.ends_with("\n" + onward + "4gpu-pcie4-two-sockets --size 45M\n"));
#endif
  const auto limits = diagnose({"-"}, {.text = "BOOT_IMAGE=/vmlinuz ro\n"});
  EXPECT_EQ(limits.error, "");
  EXPECT_EQ(limits.output.find("ringside choose"), std::string::npos) << limits.output;
}

TEST(Diagnose, RefusesTwoMachinesAndNonsenseWithOneLine) {
  const auto two =
      diagnose({files_of("1-4x4090-without-p2p").back(), files_of("7-virtual-machine").back(),
                files_of("6-nvlink-pairs-left-by-the-ring").front()});
  EXPECT_EQ(two.exit_code, 2) << two.output;
  const auto nonsense = diagnose({"-"}, {.text = "nothing of interest\n"});
  EXPECT_EQ(nonsense.exit_code, 2);
  EXPECT_EQ(std::ranges::count(nonsense.error, '\n'), 1);
  EXPECT_EQ(diagnose({}).exit_code, 2);
}

TEST(Diagnose, ListsItsRules) {
  const auto result = diagnose({"--list-rules"});
  EXPECT_EQ(result.exit_code, 0);
  expect_says(result.output, {"D01  ACS sends traffic", "D19", "ACS of the bridges"});
  const auto rules = json::parse(diagnose({"--list-rules", "--format", "json"}).output).at("rules");
  EXPECT_EQ(rules.at(0).at("id"), "D01");
}

}  // namespace
}  // namespace ringside::tests
