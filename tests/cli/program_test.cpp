// SPDX-License-Identifier: MIT
/// The program's frame, and the commands that list things.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/tests/cli/ringside_program.hpp"

namespace ringside::tests {
namespace {

using nlohmann::json;

TEST(Program, VersionIsOneLine) {
  const auto result = ringside_program({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.output.starts_with("ringside 0.")) << result.output;
  EXPECT_EQ(lines_of(result.output).size(), 1U);
  EXPECT_EQ(result.error, "");
}

TEST(Program, HelpOfTheProgramNamesEveryCommand) {
  const auto result = ringside_program({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.error, "");
  for (const std::string_view name : {"plan", "algorithms", "options", "--version", "--set"})
    EXPECT_TRUE(contains(result.output, name)) << name;
}

TEST(Program, HelpOfEveryCommandNamesEveryOptionThatItTakes) {
  const std::vector<std::pair<std::string, std::vector<std::string_view>>> table = {
      {"plan",
       {"PLAN", "--ranks", "--collective", "--root", "--in-place", "--show", "--prove", "--cost",
        "--bytes", "--access", "--format", "--set", "--help"}},
      {"algorithms", {"NAME", "--format", "--set", "--help"}},
      {"options", {"--format", "--set", "--help"}},
  };
  for (const auto& [command, options] : table) {
    for (const std::string word : {"--help", "-h"}) {
      const auto result = ringside_program({command, word});
      EXPECT_EQ(result.exit_code, 0);
      EXPECT_EQ(result.error, "");
      EXPECT_TRUE(contains(result.output, "ringside " + command)) << result.output;
      for (const auto option : options)
        EXPECT_TRUE(contains(result.output, option)) << command << ": " << option;
    }
  }
}

TEST(Program, AReaderThatLeavesIsNoError) {
  for (const std::string command :
       {"$R plan ring --ranks 100 --format json", "$R plan ring --ranks 100 --show",
        "$R algorithms", "$R options --format json"}) {
    SCOPED_TRACE(command);
    const auto result = ringside_shell("(" + command + "; echo code $? >&2) | head -n 1");
    EXPECT_FALSE(result.timed_out);
    EXPECT_EQ(result.error, "code 0\n");
    EXPECT_EQ(lines_of(result.output).size(), 1U);
    // And one that never reads: writing fails for sure.
    const auto unread = ringside_shell("(sleep 0.2; " + command + "; echo code $? >&2) | true");
    EXPECT_EQ(unread.error, "code 0\n");
  }
}

TEST(Program, ClosedStandardStreamsDoNotDamageFiles) {
  const auto result = ringside_shell("exec $R plan - --prove <&-");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(lines_of(result.error).size(), 1U);
  EXPECT_EQ(ringside_shell("exec $R options 2>&-").exit_code, 0);
}

TEST(Algorithms, EveryBuiltInIsListedWithItsParameters) {
  const auto text = ringside_program({"algorithms"});
  const auto parsed = ringside_program({"algorithms", "--format", "json"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_EQ(parsed.exit_code, 0);
  const json document = json::parse(parsed.output);
  std::vector<std::string> names;
  for (const auto& algorithm : document.at("algorithms")) {
    names.push_back(algorithm.at("name"));
    EXPECT_FALSE(algorithm.at("summary").get<std::string>().empty()) << names.back();
    EXPECT_FALSE(algorithm.at("collectives").empty()) << names.back();
    EXPECT_TRUE(contains(text.output, names.back() + ": ")) << names.back();
    for (const auto& parameter : algorithm.at("parameters"))
      EXPECT_TRUE(contains(text.output, parameter.at("meaning").get<std::string>()));
  }
  for (const std::string name :
       {"naive", "chain", "binomial", "double_tree", "recursive_doubling", "halving_doubling",
        "ring", "bidirectional_ring", "one_shot", "two_shot", "neighbour_push", "hierarchical"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  EXPECT_EQ(document.at("common_parameters").at(0).at("name"), "slices");
}

TEST(Algorithms, OneCanBeAskedFor) {
  const auto result = ringside_program({"algorithms", "ring", "--format", "json"});
  const json document = json::parse(result.output);
  ASSERT_EQ(document.at("algorithms").size(), 1U);
  EXPECT_EQ(document.at("algorithms")[0].at("name"), "ring");
  const auto text = ringside_program({"algorithms", "ring"});
  EXPECT_TRUE(text.output.starts_with("ring: "));
  EXPECT_TRUE(contains(text.output, "order"));
  EXPECT_FALSE(contains(text.output, "naive: "));
}

json option_named(const json& document, const std::string& name) {
  for (const auto& option : document.at("options"))
    if (option.at("name") == name) return option;
  ADD_FAILURE() << "no option " << name;
  return {};
}

TEST(Options, EachShowsItsVariableTypeDefaultValueSourceAndMeaning) {
  const auto result = ringside_program({"options", "--set", "isa=baseline", "--format", "json"},
                                       {.environment = {"RINGSIDE_TIMEOUT=7s"}});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.error, "");
  const json document = json::parse(result.output);
  const json timeout = option_named(document, "timeout");
  EXPECT_EQ(timeout.at("variable"), "RINGSIDE_TIMEOUT");
  EXPECT_EQ(timeout.at("type"), "duration");
  EXPECT_EQ(timeout.at("default"), "300s");
  EXPECT_EQ(timeout.at("current"), "7s");
  EXPECT_EQ(timeout.at("source"), "environment");
  EXPECT_FALSE(timeout.at("meaning").get<std::string>().empty());
  EXPECT_EQ(option_named(document, "isa").at("current"), "baseline");
  EXPECT_EQ(option_named(document, "isa").at("source"), "program");
  EXPECT_EQ(option_named(document, "progress").at("source"), "default");
  EXPECT_TRUE(document.at("unknown_variables").empty());
}

TEST(Options, AFileThatIsNotThereIsAnErrorOfItsRow) {
  const auto result = ringside_program({"options", "--format", "json"},
                                       {.environment = {"RINGSIDE_TUNING=/no/such/table.json",
                                                        "RINGSIDE_PLUGINS=/no/such/plugin.so"}});
  EXPECT_EQ(result.exit_code, 1) << result.error;
  const json document = json::parse(result.output);
  for (const auto* name : {"tuning", "plugins"})
    EXPECT_TRUE(contains(option_named(document, name).at("error").get<std::string>(), "/no/such/"));
}

TEST(Options, TextHasEveryOptionOfTheJson) {
  const auto text = ringside_program({"options"}).output;
  const json document = json::parse(ringside_program({"options", "--format", "json"}).output);
  EXPECT_GE(document.at("options").size(), 6U);
  for (const auto& option : document.at("options"))
    for (const char* key : {"name", "variable", "type", "default", "current", "meaning"})
      EXPECT_TRUE(contains(text, option.at(key).get<std::string>())) << option.at("name") << key;
}

TEST(Options, EveryWordThatABooleanIsSaidToTakeIsTaken) {
  EXPECT_TRUE(contains(ringside_program({"options"}).output,
                       "allowed: 1|0, true|false, yes|no or on|off; default: "));
  for (const std::string word : {"1", "0", "true", "false", "yes", "no", "on", "off"}) {
    const auto result = ringside_program({"options", "--set", "checksum=" + word});
    EXPECT_EQ(result.exit_code, 0) << result.error;
    EXPECT_TRUE(contains(result.output, word + " (from: --set)")) << result.output;
  }
  const auto wrong = ringside_program({"options", "--set", "checksum=2"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_TRUE(contains(wrong.error, "expected a bool (1|0, true|false, yes|no or on|off)"))
      << wrong.error;
}

TEST(Options, SetMayStandBeforeAndAfterTheCommand) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--set", "timeout=9", "options"},
        {"options", "--set", "timeout=9"},
        {"options", "--set", "timeout=5", "--set=timeout=9"}}) {
    const auto text = ringside_program(words).output;
    EXPECT_TRUE(contains(text, "9 (from: --set)")) << text;
  }
}

TEST(Options, AnUnknownVariableIsWarnedAboutWithAGuess) {
  const ProgramInput input{.environment = {"RINGSIDE_TIMEOUTT=3"}};
  const auto text = ringside_program({"options"}, input);
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_EQ(lines_of(text.error).size(), 1U);
  EXPECT_TRUE(contains(text.error, "RINGSIDE_TIMEOUTT")) << text.error;
  EXPECT_TRUE(contains(text.error, "did you mean RINGSIDE_TIMEOUT?")) << text.error;
  const json document =
      json::parse(ringside_program({"options", "--format", "json"}, input).output);
  EXPECT_EQ(document.at("unknown_variables").at(0).at("variable"), "RINGSIDE_TIMEOUTT");
}

TEST(Options, AValueThatCannotBeReadIsAFinding) {
  const auto result = ringside_program({"options"}, {.environment = {"RINGSIDE_ISA=sse9"}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.output, "sse9"));
  EXPECT_TRUE(contains(result.output, "CANNOT BE READ"));
}

}  // namespace
}  // namespace ringside::tests
