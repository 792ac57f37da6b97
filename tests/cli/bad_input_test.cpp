// SPDX-License-Identifier: MIT
/// Whatever is wrong with what the program was given: exactly one line on standard error that says
/// so, nothing on standard output, exit code 2.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ringside/tests/cli/ringside_program.hpp"

namespace ringside::tests {
namespace {

TEST(BadInput, EveryBadCommandLineIsOneLineAndExitCode2) {
  const std::vector<BadCommand> table = {
      {{}, "subcommand is required"},
      {{""}, "no command"},
      {{"plans", "ring"}, "did you mean \"plan\""},
      {{"frobnicate"}, "no command \"frobnicate\""},
      {{"--frobnicate"}, "--frobnicate"},
      {{"-x"}, "-x"},
      {{"options", "extra"}, "extra"},
      {{"options", "--format", "xml"}, "expected one of text, json, got \"xml\""},
      {{"options", "--format", "jsom"}, "did you mean \"json\""},
      {{"options", "--format"}, "--format"},
      {{"options", "--format", "json", "--format", "text"}, "--format"},
      {{"--set", "timeout=never", "options"}, "timeout"},
      {{"options", "--set", "timeout=never"}, "expected a duration"},
      {{"options", "--set", "tiemout=3"}, "did you mean \"timeout\""},
      {{"options", "--set", "timeout"}, "name=value"},
      {{"options", "--set"}, "--set"},
      {{"options", "--set", "isa=avx3"}, "avx2"},
      {{"algorithms", "rnig"}, "rnig"},
      {{"algorithms", "ring", "chain"}, "chain"},
      {{"algorithms", "--ranks", "2"}, "--ranks"},
      {{"plan"}, "PLAN is required (see ringside plan --help)"},
      {{"plan", "ring"}, "--ranks is required"},
      {{"plan", "ring", "--ranks"}, "--ranks"},
      {{"plan", "ring", "--ranks", "0"}, "--ranks: expected a whole number from 1 to 4096"},
      {{"plan", "ring", "--ranks", "-4"}, "-4"},
      {{"plan", "ring", "--ranks", "4x"}, "4x"},
      {{"plan", "ring", "--ranks", "1e3"}, "1e3"},
      {{"plan", "ring", "--ranks", "99999999999999999999"}, "99999999999999999999"},
      {{"plan", "ring", "--ranks", "65536"}, "1 to 4096"},
      {{"plan", "ring", "--ranks", "4096"}, "more ops than"},
      {{"plan", "ring", "--ranks", "4", "--ranks", "5"}, "--ranks"},
      {{"plan", "ring", "naive", "--ranks", "4"}, "\"naive\" is one word too many"},
      {{"plan", "ring", "--ranks", "4", "--in-place=maybe"}, "--in-place"},
      {{"plan", "ring", "--ranks", "4", "--verbose"}, "no option \"--verbose\""},
      {{"plan", "ring", "--rank", "4"}, "no option \"--rank\" (did you mean \"--ranks\"?)"},
      {{"plan", "ring", "--ranks", "4", "--root", "4"}, "root"},
      {{"plan", "ring", "--ranks", "4", "--root", "-1"}, "--root"},
      {{"plan", "ring", "--ranks", "4", "--collective", "allreduce"}, "allreduce"},
      {{"plan", "ring", "--ranks", "4", "--collective", "all_to_all"},
       "ring does not do all_to_all"},
      {{"plan", "ring", "--ranks", "4", "--collective", "all_to_all", "--in-place"}, "place"},
      {{"plan", "ring", "--ranks", "4", "--collective", "barrier"}, "barrier"},
      {{"plan", "ring", "--ranks", "4", "--show", "--prove"}, "choose one"},
      {{"plan", "ring", "--ranks", "4", "--show", "--format", "json"}, "--show"},
      {{"plan", "ring", "--ranks", "4", "--cost", "--format", "dot"}, "--format dot"},
      {{"plan", "ring", "--ranks", "4", "--format", "yaml"}, "text, json, dot"},
      {{"plan", "ring", "--ranks", "4", "--bytes", "64MB"}, "--bytes"},
      {{"plan", "ring", "--ranks", "4", "--bytes", "-1"}, "--bytes"},
      {{"plan", "ring", "--ranks", "4", "--bytes", "6"}, "multiple of 4"},
      {{"plan", "ring", "--ranks", "4", "--bytes", ""}, "--bytes"},
      {{"plan", "ring", "--ranks", "4", "--access", "some"}, "direct, copy_only or none"},
      {{"plan", "ring", "--ranks", "257", "--prove"}, "256"},
      {{"plan", "./no_such_plan.json", "--ranks", "4"}, "no such file"},
      {{"plan", "no_such_plan.json"}, "no such file"},
      {{"plan", "/"}, "directory"},
      {{"plan", "two\nlines.json"}, "two\\nlines.json"},
  };
  EXPECT_GE(table.size(), 40U);
  expect_all_refused(table, [](const auto& words) { return ringside_program(words); });
}

TEST(BadInput, ASwitchTakesNoValue) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> table = {
      {"topo", {"--live", "--lint", "--list-presets"}},
      {"diagnose", {"--live", "--verbose", "--list-rules"}},
      {"plan", {"--in-place", "--show", "--prove", "--cost"}},
      {"choose", {"--live", "--in-place", "--all"}},
      {"explain", {"--live", "--in-place"}},
      {"simulate", {"--live", "--in-place", "--links", "--critical-path"}},
  };
  for (const auto& [command, switches] : table)
    for (const auto& name : switches)
      for (const std::string value : {"=no", "=false"}) {  // "=true" says what the switch says
        SCOPED_TRACE(command + " " + name + value);
        expect_refused(ringside_program({command, name + value}), name + " takes no value");
      }
}

TEST(BadInput, EveryBadSpecIsOneLineAndExitCode2) {
  const std::vector<std::pair<std::string, std::string_view>> table = {
      {"", "spec"},
      {":", "NAME"},
      {"ring:", "PARAMETER=VALUE"},
      {"ring:slices", "PARAMETER=VALUE"},
      {"ring:slices=", "PARAMETER=VALUE"},
      {"ring:=8", "PARAMETER=VALUE"},
      {"ring:slices=8,slices=8", "twice"},
      {"ring:slices=8,,depth=1", "PARAMETER=VALUE"},
      {"ring:slices=0", "from 1 to"},
      {"ring:slices=-1", "from 1 to"},
      {"ring:slices=1.5", "slices"},
      {"ring:slices=8x", "slices"},
      {"ring:slices=99999999999", "slices"},
      {"ring:lanes=1000", "lanes"},
      {"ring:slices=2,depth=0", "depth"},
      {"ring:colour=red", "no parameter 'colour'"},
      {"ring:order=0-1", "order"},
      {"ring:order=0-1-2-2", "twice"},
      {"ring:order=0-1-2-4", "no rank 4"},
      {"ring:order=0--1-2", "order"},
      {"ring:order=(0-1-2-3", "'('"},
      {"ring:order=0-1-2-3)", "')'"},
      {"Ring", "no algorithm 'Ring'"},
      {"ring slices=8", "NAME"},
      {"ring\nslices", "\\n"},
      {std::string(70000, 'a'), "too long"},
      {"two_shot:transfer=sideways", "push"},
      {"one_shot:transfer=", "PARAMETER=VALUE"},
      {"hierarchical:groups=0-1", "no group"},
      {"hierarchical:groups=0-1/1-2-3", "twice"},
      {"hierarchical:groups=0-1/2-9", "no rank 9"},
      {"hierarchical:groups=0-1/2-3,inner=nothing", "nothing"},
      {"hierarchical:groups=0-1/2-3,outer=(ring:slices=4", "'('"},
      {"hierarchical:groups=0-1/2-3,inner=(ring:colour=red)", "colour"},
  };
  for (const auto& [spec, expected] : table) {
    SCOPED_TRACE(spec.substr(0, 100));
    expect_refused(ringside_program({"plan", spec, "--ranks", "4"}), expected);
  }
}

struct BadFile {
  std::string_view old_part, part;
  std::string_view expected;
};

TEST(BadInput, EveryBadPlanFileIsOneLineThatNamesThePlace) {
  const std::vector<BadFile> table = {
      {"\"ringside_plan\": 1", "\"ringside_plan\": 2", "$.ringside_plan"},
      {"\"ringside_plan\": 1, ", "", "ringside_plan"},
      {"\"by hand\"", "\"\\u001b[31mred\"", "$.spec: it has a control character"},
      {"\"ranks\": 2", "\"ranks\": 0", "$.ranks"},
      {"\"ranks\": 2", "\"ranks\": 1000000000", "$.ranks"},
      {"\"ranks\": 2", "\"ranks\": 1e400", "standard input"},
      {"\"ranks\": 2", "\"ranks\": \"2\"", "$.ranks"},
      {"\"ranks\": 2", "\"ranks\": 2, \"ranks\": 2", "ranks"},
      {"\"ranks\": 2", "\"ranks\": 1", "$.ops[0]"},
      {"\"root\": 0", "\"root\": 2", "root"},
      {"\"in_place\": false", "\"in_place\": 0", "$.in_place"},
      {"\"all_reduce\"", "\"all_reduse\"", "$.collective"},
      {"\"chunks_per_block\": 1", "\"chunks_per_block\": -1", "$.chunks_per_block"},
      {"\"chunks_per_block\": 1", "\"chunks_per_block\": 2000000000", "$.chunks_per_block"},
      {"\"lanes\": 1", "\"lanes\": 1.5", "$.lanes"},
      {"\"depth\": 1", "\"deepness\": 1", "deepness"},
      {"\"scratch\": []", "\"scratch\": {}", "$.scratch"},
      {"\"scratch\": []", "\"scratch\": [{}]", "$.scratch[0]"},
      {"\"lane\": 0", "\"lane\": 7", "$.ops[0]"},
      {"\"count\": 1", "\"count\": 2", "$.ops[0]"},
      {"\"count\": 1", "\"count\": 0", "$.ops[0].count"},
      {"\"count\": 1", "\"count\": 1, \"colour\": 3", "colour"},
      {"[0, \"input\", 0]", "[2, \"input\", 0]", "$.ops[0].sources[0]"},
      {"[0, \"input\", 0]", "[0, \"inputs\", 0]", "$.ops[0].sources[0]"},
      {"[0, \"input\", 0]", "[0, \"input\"]", "$.ops[0].sources[0]"},
      {"[0, \"input\", 0]", "[0, \"input\", 1]", "$.ops[0]"},
      {"[0, \"input\", 0]", "[0, \"scratch\", 0, 0]", "$.ops[0]"},
      {"[0, \"input\", 0]", "null", "$.ops[0].sources[0]"},
      {"[[0, \"input\", 0], [1, \"input\", 0]]", "[]", "$.ops[0].sources"},
      {"[0, \"output\", 0]", "[1, \"output\", 0]", "$.ops[0]"},
      {"]}\n  ]\n}", "]}\n  ]\n} x", "standard input"},
      {"]}\n  ]\n}", "]}\n  ]\n", "standard input"},
  };
  for (const auto& [old_part, part, expected] : table) {
    SCOPED_TRACE(std::string(old_part) + " -> " + std::string(part));
    const auto result =
        ringside_program({"plan", "-"}, {.text = with(two_rank_plan, old_part, part)});
    expect_refused(result, expected);
    EXPECT_NE(result.error.find("standard input"), std::string::npos);
  }
}

TEST(BadInput, TextThatIsNoPlanAtAllIsOneLine) {
  const std::vector<std::string> texts = {"",
                                          "ring",
                                          "[]",
                                          "null",
                                          "{}",
                                          "{\"ringside_plan\":",
                                          std::string(100000, '['),
                                          std::string("\0\1\2\xff", 4),
                                          "\xef\xbb\xbf{}"};
  for (const auto& text : texts) {
    SCOPED_TRACE(text.substr(0, 40));
    expect_refused(ringside_program({"plan", "-"}, {.text = text}), "standard input");
  }
}

TEST(BadInput, AFileIsForTheRequestThatItNames) {
  const ProgramInput input{.text = std::string(two_rank_plan)};
  expect_refused(ringside_program({"plan", "-", "--ranks", "3"}, input), "for 2 ranks");
  expect_refused(ringside_program({"plan", "-", "--in-place"}, input), "out of place");
  expect_refused(ringside_program({"plan", "-", "--collective", "reduce"}, input), "all_reduce");
  expect_refused(ringside_program({"plan", "-", "--root", "1"}, input), "root 0");
}

TEST(BadInput, OutputThatCannotBeWrittenIsAnError) {
  for (const std::string command :
       {"exec $R options >/dev/full", "exec $R plan ring --ranks 64 --format json >/dev/full",
        "exec $R --help >/dev/full", "exec $R --version >&-"}) {
    SCOPED_TRACE(command);
    expect_refused(ringside_shell(command), "cannot write standard output");
  }
}

}  // namespace
}  // namespace ringside::tests
