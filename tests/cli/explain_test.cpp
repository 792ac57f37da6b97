// SPDX-License-Identifier: MIT
/// `ringside explain` as people use it.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ringside/tests/cli/ringside_program.hpp"

namespace ringside::tests {
namespace {

std::string output_of(std::vector<std::string> words) {
  words.insert(words.begin(), "explain");
  const auto result = ringside_program(words);
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(result.error, "");
  return result.output;
}

void expect_says(const std::string& text, const std::vector<std::string>& all_words) {
  for (const auto& words : all_words)
    EXPECT_NE(text.find(words), std::string::npos) << words << "\nis not in\n" << text;
}

const std::vector<std::string> two_switches = {"--topo", "4gpu-pcie4-two-switches", "--size",
                                               "45M"};

std::vector<std::string> on_two_switches(std::vector<std::string> words) {
  words.insert(words.end(), two_switches.begin(), two_switches.end());
  return words;
}

TEST(Explain, SaysWhyNaiveIsSlow) {
  expect_says(output_of(on_two_switches({"--algorithm", "naive"})),
              {"# machine: 4gpu-pcie4-two-switches", "naive takes ", " (simulated)",
               "GPU0's link: 270 MiB, 2 (n - 1) S = 6 S", "The load is uneven", "No plan can beat ",
               "by NCCL's own model", "what auto takes here"});
}

TEST(Explain, ComparesTwoOrdersOfARing) {
  expect_says(
      output_of(on_two_switches(
          {"--algorithm", "ring:order=0-1-3-2", "--compare", "ring:order=0-2-1-3"})),
      {"ring:order=0-2-1-3 takes ", " times as long as ring:order=0-1-3-2",
       "2 pairs of GPUs that exchange data lie across it, with ring:order=0-1-3-2 one pair"});
}

TEST(Explain, OfAutoSaysWhatWasChosenAndWhyNotTheOthers) {
  const auto text = output_of(on_two_switches({}));
  expect_says(text, {"Chosen: ", "Others:\n", "naive", " times as long"});
  EXPECT_EQ(text.find("does not do all_reduce"), std::string::npos);
}

TEST(Explain, TakesOtherCollectivesGpusAndMachines) {
  expect_says(output_of({"--topo", "8gpu-two-sockets", "--collective", "broadcast", "--root", "1",
                         "--gpus", "0,1,4,5", "--algorithm", "linear", "--type", "half"}),
              {"broadcast on 4 ranks from root 1", "GPU4", "No plan can beat"});
  expect_says(output_of({"--topo", "4gpu-pcie4-two-switches", "--what-if", "p2p=off", "--algorithm",
                         "ring"}),
              {"p2p=off", "copies through the host"});
}

TEST(Explain, GivesARangeWhereLatenciesDecide) {
  expect_says(output_of({"--topo", "dgx-a100", "--size", "4K", "--algorithm", "one_shot"}),
              {"Latencies decide at this size"});
}

TEST(Explain, JsonIsWhole) {
  const auto json = nlohmann::json::parse(
      output_of(on_two_switches({"--algorithm", "ring", "--format", "json"})));
  EXPECT_EQ(json["machine"], "4gpu-pcie4-two-switches");
  EXPECT_EQ(json["plans"][0]["spec"], "ring");
  EXPECT_GT(json["plans"][0]["simulated_seconds"], json["bounds"][0]["seconds"]);
}

TEST(Explain, RefusesWithOneLine) {
  const std::vector<BadCommand> wrong = {
      {{}, "--topo is required"},
      {{"--topo", "4gpu-pcie4-one-root", "--algorithm", "rnig"}, "rnig"},
      {{"--topo", "4gpu-pcie4-one-root", "--algorithm", "all"}, "a single algorithm"},
      {{"--topo", "4gpu-pcie4-one-root", "--compare", "auto"}, "a single algorithm"},
      {{"--topo", "4gpu-pcie4-one-root", "--size", "2"}, "no element of float32"},
      {{"--topo", "4gpu-pcie4-one-root", "--size", "much"}, "--size"},
      {{"--topo", "4gpu-pcie4-one-root", "--ranks", "1"}, "a single rank"},
      {{"--topo", "4gpu-pcie4-one-root", "--collective", "barrier"}, "barrier"},
      {{"--topo", "4gpu-pcie4-one-root", "--collective", "all_gather", "--algorithm", "naive"},
       "naive"},
  };
  expect_all_refused(wrong, [](auto words) {
    words.insert(words.begin(), "explain");
    return ringside_program(words);
  });
}

}  // namespace
}  // namespace ringside::tests
