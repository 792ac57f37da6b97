// SPDX-License-Identifier: MIT
/// The program takes algorithms from outside wherever it takes one by name: shared objects and plan
/// files; and it refuses the others in one line.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ringside/tests/cli/ringside_program.hpp"

namespace ringside::tests {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

const std::string star = RINGSIDE_PLUGIN_FOLDER "/plugin_star.so";
const std::string misbehaving = RINGSIDE_PLUGIN_FOLDER "/misbehaving.so";

std::string output_of(const Words& words, const ProgramInput& input = {}) {
  const auto result = ringside_program(words, input);
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(result.error, "");
  return result.output;
}

/// The one line, without the program's name, that a command is refused with.
std::string refusal_of(const Words& words, const ProgramInput& input = {}) {
  const auto result = ringside_program(words, input);
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_EQ(result.output, "");
  const auto lines = lines_of(result.error);
  const std::string head = "ringside: ";
  if (lines.size() != 1 || !lines[0].starts_with(head)) {
    ADD_FAILURE() << "not one line: " << result.error;
    return result.error;
  }
  return lines[0].substr(head.size());
}

TEST(PluginOption, StandsBeforeAndAfterTheCommand) {
  for (const Words& words :
       {Words{"--plugin", star, "algorithms", "star"},
        Words{"algorithms", "star", "--plugin", star},
        Words{"algorithms", "--plugin", star, "--plugin", misbehaving, "star"}})
    EXPECT_TRUE(contains(output_of(words), "star: all data are added at one rank"));
}

TEST(PluginOption, TheEnvironmentDoesTheSame) {
  const ProgramInput input{.environment = {"RINGSIDE_PLUGINS=" + misbehaving + ":" + star}};
  const json list = json::parse(output_of({"algorithms", "--format", "json"}, input));
  const auto& last = list.at("algorithms").back();
  EXPECT_EQ(last.at("name"), "star");
  EXPECT_EQ(last.at("plugin"), star);
  EXPECT_EQ(last.at("parameters").at(0).at("name"), "centre");
  EXPECT_EQ(list.at("algorithms").front().at("plugin"), "");
}

TEST(PluginOption, AlgorithmsFromOutsideAreProven) {
  EXPECT_TRUE(
      contains(output_of({"plan", "star:centre=2", "--ranks", "4", "--prove", "--plugin", star}),
               "proof: holds for star:centre=2, all_reduce, 4 ranks"));
  const auto wrong =
      ringside_program({"plan", "wrong", "--ranks", "3", "--prove", "--plugin", misbehaving});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_TRUE(contains(wrong.output, "no op stores output[0] of rank 2")) << wrong.output;
}

TEST(PluginOption, APlanOfOneIsAPlanLikeAnyOther) {
  const auto file =
      output_of({"plan", "star", "--ranks", "3", "--format", "json", "--plugin", star});
  const ProgramInput input{.text = file};
  EXPECT_TRUE(contains(output_of({"plan", "-", "--prove"}, input), "proof: holds for star"));
}

TEST(PluginOption, WhatIsNoneIsRefused) {
  EXPECT_EQ(
      refusal_of({"algorithms", "--plugin", RINGSIDE_PLUGIN_FOLDER "/refused_wrong_version.so"}),
      "plug-in \"" RINGSIDE_PLUGIN_FOLDER
      "/refused_wrong_version.so\": it is of version 2 of the interface for algorithms: this "
      "library knows version 1");
  EXPECT_EQ(refusal_of({"algorithms", "--plugin", "./nowhere.so"}),
            "plug-in \"./nowhere.so\": no such file or directory");
  EXPECT_EQ(refusal_of({"plan", "ring", "--ranks", "2"},
                       {.environment = {"RINGSIDE_PLUGINS=./nowhere.so"}}),
            "plug-in \"./nowhere.so\": no such file or directory");
  EXPECT_TRUE(
      contains(refusal_of({"plan", "drifting", "--ranks", "3", "--plugin", misbehaving}),
               "it answers differently when it is asked again, so ranks would run different "
               "plans"));
  EXPECT_TRUE(contains(refusal_of({"plan", "failing", "--ranks", "3", "--plugin", misbehaving}),
                       "build failed with status 1: not in the mood"));
}

#ifdef RINGSIDE_WITH_BENCH

Words bench(const Words& words) {
  Words all = {"bench", "-b", "4K", "-e", "4K", "--time", "1ms", "--rounds", "1"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

/// A plan file of 2 ranks, gone with the test.
class BenchOfFiles : public testing::Test {
 protected:
  ~BenchOfFiles() override { std::filesystem::remove(path_); }
  void write(const std::string& spec, const Words& more = {}) {
    Words words = {"plan", spec, "--ranks", "2", "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    std::ofstream(path_) << output_of(words);
  }
  std::string path_ = testing::TempDir() + "ring,2:a=b_" + std::to_string(getpid()) + ".json";
};

TEST(Bench, ASharedObjectIsTimedCheckedAndNamed) {
  const json report = json::parse(
      output_of(bench({"-a", "star,ring,star:centre=1", "--plugin", star, "--format", "json"})));
  const auto text = report.dump();
  EXPECT_TRUE(contains(text, "\"star\""));
  EXPECT_TRUE(contains(text, "\"star:centre=1\""));
}

TEST(Bench, AllIncludesWhatWasLoadedAndSkipsWhatIsWrong) {
  const auto text = output_of(
      bench({"-a", "all", "--plugin", star, "--plugin", misbehaving, "--format", "text"}));
  EXPECT_TRUE(contains(text, "# algorithm: star\n"));
  EXPECT_TRUE(contains(
      text, "# skipped: wrong (all_reduce, 2 ranks): the plan 'wrong' of 2 ranks is wrong"));
  EXPECT_TRUE(contains(text, "# skipped: drifting (all_reduce, 2 ranks): plug-in"));
  EXPECT_TRUE(contains(text, "# skipped: failing (all_reduce, 2 ranks): plug-in"));
  EXPECT_FALSE(contains(text, "# algorithm: wrong"));
}

TEST(Bench, RegretAndTuneSkipWhatIsWrongAndSaySo) {
  const auto regret = output_of(Words({"bench", "--regret", "-b", "8", "-e", "8", "--time", "1ms",
                                       "--placement", "in", "--plugin", misbehaving}));
  EXPECT_TRUE(contains(
      regret, "# skipped: wrong (all_reduce, 2 ranks): the plan 'wrong' of 2 ranks is wrong"))
      << regret;
  EXPECT_TRUE(contains(regret, "all rows, the others as equal: 1 rows")) << regret;
}

TEST(Bench, OneThatIsNamedAndWrongIsRefused) {
  EXPECT_TRUE(contains(refusal_of(bench({"-a", "ring,wrong", "--plugin", misbehaving})),
                       "the plan 'wrong' of 2 ranks is wrong"));
}

TEST(Bench, TheOptionAlgorithmChoosesIt) {
  EXPECT_TRUE(contains(
      output_of(bench({"-a", "auto", "--set", "algorithm=star", "--plugin", star})), " OK\n"));
}

TEST_F(BenchOfFiles, APlanFileIsMeasuredInItsPlacementAndSaysSo) {
  write("ring", {"--in-place"});
  const auto text = output_of(bench({"-a", "(" + path_ + "),naive", "--format", "text"}));
  EXPECT_TRUE(contains(text, "# algorithm: " + path_ + "\n")) << text;
  EXPECT_TRUE(contains(text, "N/A"));
  EXPECT_TRUE(contains(text, "# skipped: " + path_ + " (all_reduce, 2 ranks): \"" + path_ +
                                 "\" is a plan for all_reduce on 2 ranks, in place, not for "
                                 "all_reduce on 2 ranks, out of place"))
      << text;
}

TEST_F(BenchOfFiles, APlanFileThatIsForNothingAskedIsRefused) {
  write("ring");
  EXPECT_TRUE(contains(refusal_of(bench({"-a", "(" + path_ + ")", "--ranks", "3"})),
                       "is a plan for all_reduce on 2 ranks, out of place, not for all_reduce on 3 "
                       "ranks"));
  EXPECT_TRUE(contains(refusal_of(bench({"-a", "(" + path_ + ")", "--placement", "in"})),
                       "out of place, not for all_reduce on 2 ranks, in place"));
}

TEST(Bench, AWrongPlanFileIsRefusedWithTheProversWords) {
  EXPECT_TRUE(contains(refusal_of(bench({"-a", RINGSIDE_TEST_DATA "/plans/pair_wrong.json"})),
                       "without the contribution of rank 0"));
}

#endif

}  // namespace
}  // namespace ringside::tests
