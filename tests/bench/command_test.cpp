// SPDX-License-Identifier: MIT
/// `ringside bench` as people call it.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ringside/base/file.hpp"
#include "ringside/base/json.hpp"
#include "ringside/tests/bench/bench_program.hpp"
#include "ringside/tests/bench/nccl_rows.hpp"

namespace ringside::tests {
namespace {

/// Small enough for a test, of any algorithm.
std::vector<std::string> small(std::vector<std::string> more = {}) {
  std::vector<std::string> words = {"-b", "8", "-e", "512", "-n", "3", "--rounds", "1"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(BenchCommand, EveryBadCommandLineIsOneLineAndExitCode2) {
  expect_all_refused({
      {{"extra"}, "extra"},
      {{"--frobnicate"}, "--frobnicate"},
      {{"--algorithm", "rnig"}, "rnig"},
      {{"--algorithm", ""}, "--algorithm"},
      {{"--algorithm", "ring,"}, "spec"},
      {{"--algorithm", "all,ring"}, "all stands alone"},
      {{"--algorithm", "ring,ring"}, "twice"},
      {{"--algorithm", "ring:colour=red"}, "colour"},
      {{"--algorithm", "ring:slices=0"}, "slices"},
      {{"--algorithm", "ring:order=0-1-2", "--ranks", "2"}, "order"},
      {{"--ranks", "0"}, "--ranks"},
      {{"--ranks", "-1"}, "-1"},
      {{"--ranks", "2,"}, "--ranks"},
      {{"--ranks", "2,2"}, "--ranks"},
      {{"--ranks", "257"}, "1 to 256"},
      {{"--ranks", "two"}, "\"two\""},
      {{"--ranks", "2", "-t", "2"}, "--ranks and --threads exclude each other"},
      {{"-t", "0"}, "--threads"},
      {{"-g", "8"}, "-g 8: there are no GPUs in --backend host"},
      {{"-g", "8"}, "add --backend cuda (or nccl)"},
      {{"-g=1"}, "-g: expected a whole number from 1 to 256, got \"=1\""},
      {{"--devices", "0"}, "with --backend host: add --backend cuda (or nccl)"},
      {{"--issue", "both"}, "with --backend host: add --backend cuda"},
      {{"--copies", "all"}, "with --backend host: add --backend cuda"},
      {{"-b", "8X"}, "--begin"},
      {{"-b", "-8"}, "-8"},
      {{"-e", "64MB"}, "--end"},
      {{"-b", "64", "-e", "8"}, "before they begin"},
      {{"-f", "1"}, "factor of at least 2 or a step"},
      {{"-f", "x"}, "--factor"},
      {{"-f", "1.5"}, "--factor"},
      {{"-i", "0"}, "--step"},
      {{"-b", "0", "-e", "64M", "-i", "1"}, "10000 sizes"},
      {{"-b", "0", "-e", "8"}, "by a step"},
      {{"-n", "0"}, "--iterations"},
      {{"-n", "many"}, "--iterations"},
      {{"-w", "-1"}, "-1"},
      {{"-c", "maybe"}, "--check"},
      {{"-c", "2"}, "--check"},
      {{"-e", "18446744073709551615"}, "--end"},
      {{"--buffers", "cold:0"}, "at least one byte"},
      {{"--collective", "barrier", "-a", "rnig"}, "rnig"},
      {{"--collective", "sendrecv", "-a", "rnig"}, "rnig"},
      {{"--rounds", "0"}, "--rounds"},
      {{"--time", "0"}, "--time"},
      {{"--time", "soon"}, "--time"},
      {{"--timeout", "-1s"}, "-1s"},
      {{"-o", "summ"}, "did you mean \"sum\""},
      {{"-d", "float33"}, "did you mean \"float32\""},
      {{"-d", ""}, "--type"},
      {{"--placement", "beside"}, "both, in or out"},
      {{"--collective", "all_redcue"}, "did you mean \"all_reduce\""},
      {{"--collective", "reduce,reduce"}, "every one once"},
      {{"--collective", "all_to_all", "--placement", "in"}, "cannot be in place"},
      {{"--collective", "broadcast", "-a", "ring"}, "ring does not do broadcast"},
      {{"--collective", "barrier", "-a", "ring"}, "barrier has no algorithms to choose from"},
      {{"--collective", "sendrecv", "-a", "ring"}, "sendrecv has no algorithms to choose from"},
      {{"--root", "2"}, "--root 2 is not one of 2 ranks"},
      {{"--root", "-1"}, "-1"},
      {{"--buffers", "cool"}, "warm, cold, cold:SIZE or rewritten"},
      {{"--buffers", "warm:1M"}, "--buffers"},
      {{"--buffers", "cold:many"}, "--buffers cold"},
      {{"--exact-counts=perhaps"}, "--exact-counts takes no value"},
      {{"--summary=no"}, "--summary takes no value"},
      {{"--spread=no"}, "--spread takes no value"},
      {{"--regret=yes"}, "--regret takes no value"},
      {{"-n"}, "--iterations needs a value: N"},
      {{"--begin", "8", "-b", "16"}, "--begin is there more than once"},
      {{"--pin", "perhaps"}, "--pin"},
      {{"--backend", "rocm"}, "host, cuda, nccl, mpi or openmpi"},
      {{"--compare", "opemmpi"}, "openmpi"},
      {{"--format", "xml"}, "--format"},
      {{"--format", "csv", "--summary"}, "csv"},
      {{"-b", "1T", "-e", "1T"}, "choose a smaller --end"},
      {{"-b", "8", "-e", "8", "-n", "1", "--output", "/no/such/folder/file"}, "/no/such/folder"},
  });
}

TEST(BenchCommand, WhatACsvLeavesOutIsToldOnStandardError) {
  const auto csv =
      bench(small({"-a", "ring", "--collective", "all_reduce,broadcast", "--format", "csv"}));
  EXPECT_EQ(csv.exit_code, 0);
  EXPECT_EQ(lines_of(csv.error).size(), 1U) << csv.error;
  EXPECT_NE(csv.error.find("skipped: ring (broadcast, 2 ranks): "), std::string::npos) << csv.error;
  const auto messages =
      bench(small({"--collective", "sendrecv", "--compare", "baseline:two_shot"}));
  EXPECT_EQ(messages.exit_code, 0) << messages.error;
  EXPECT_NE(messages.output.find("# skipped: baseline:two_shot (sendrecv, 2 ranks)"),
            std::string::npos)
      << messages.output;
}

TEST(BenchCommand, NcclTestsLettersMeanWhatTheyMeanThere) {
  const auto result =
      bench({"-g", "1",  "-t", "2",  "-b", "1K", "-e",  "3K", "-i",   "1K",          "-n",
             "2",  "-w", "0",  "-c", "0",  "-o", "max", "-d", "half", "--algorithm", "naive"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  const auto text = read_nccl_text(result.output);
  ASSERT_EQ(text.rows.size(), 3U);
  EXPECT_EQ(text.rows[2].size, 3072U);
  EXPECT_EQ(text.rows[2].count, 1536U);
  EXPECT_EQ(text.rows[0].type, "half");
  EXPECT_EQ(text.rows[0].out_of_place->check, "N/A");
  EXPECT_NE(result.output.find("step: 1024(bytes)"), std::string::npos);
  EXPECT_TRUE(result.output.starts_with("# -g 1: no GPU is used, ranks are threads"))
      << result.output;
}

TEST(BenchCommand, AllMeasuresEveryAlgorithmWithoutAWrongElement) {
  const auto result = bench(small({"--ranks", "4", "--algorithm", "all"}));
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(result.error, "");
  const auto text = read_nccl_text(result.output);
  EXPECT_GE(text.rows.size(), 30U);
  for (const auto& row : text.rows) {
    EXPECT_EQ(row.fields, 13U);
    EXPECT_EQ(row.out_of_place->check, "0");
    EXPECT_EQ(row.in_place->check, "0");
  }
}

TEST(BenchCommand, SummaryComesWithATable) {
  const auto result = bench(small({"--algorithm", "ring,naive", "--summary"}));
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_NE(result.output.find("* the fastest of ours"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("Measured here"), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find("# Using devices"), std::string::npos) << result.output;
}

TEST(BenchCommand, ASpecMayHaveCommas) {
  const auto result =
      bench(small({"--algorithm", "ring:slices=2,order=1-0,naive", "--format", "csv"}));
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_NE(result.output.find("naive"), std::string::npos);
  EXPECT_NE(result.output.find("\"ring:"), std::string::npos) << result.output;
}

TEST(BenchCommand, OutputGoesToAFileAndTheEnvironmentNowhere) {
  std::string folder = "/tmp/ringside_bench_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/result.json";
  const auto result = bench(small({"--algorithm", "ring", "--format", "json", "--output", path}),
                            {.environment = {"MY_SECRET_TOKEN=do-not-tell"}});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(result.output, "");
  const auto text = read_file(path);
  ::unlink(path.c_str());
  ::rmdir(folder.c_str());
  EXPECT_EQ(text.find("do-not-tell"), std::string::npos);
  EXPECT_EQ(text.find("MY_SECRET_TOKEN"), std::string::npos);
  EXPECT_EQ(text.find(folder), std::string::npos);
  const JsonDocument document(text, "result.json");
  EXPECT_EQ(document.root()["results"].size(), 3U);
}

TEST(BenchCommand, HelpNamesEveryOption) {
  const auto result = bench({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* option :
       {"--algorithm", "--ranks",      "--begin",  "--end",       "--factor",
        "--step",      "--iterations", "--time",   "--rounds",    "--warmup",
        "--check",     "--op",         "--type",   "--placement", "--timeout",
        "--backend",   "--compare",    "--format", "--summary",   "--output",
        "--pin",       "--collective", "--root",   "--buffers",   "--exact-counts"})
    EXPECT_NE(result.output.find(option), std::string::npos) << option;
}

TEST(BenchCommand, TheProgressLineLeavesNothingBehind) {
  const auto result =
      bench(small({"--algorithm", "ring"}), {.environment = {"RINGSIDE_PROGRESS=always"}});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.error.find("1 of 6"), std::string::npos) << result.error;
  EXPECT_TRUE(result.error.ends_with("\r\x1b[K")) << result.error;
  EXPECT_EQ(result.output.find('\x1b'), std::string::npos);
}

/// `ringside bench` in the middle of a long measurement, sent that signal after two seconds.
ProgramResult interrupted(const std::string& signal, std::vector<std::string> words,
                          const std::string& mark) {
  words.insert(words.begin(), {"timeout", "--foreground", "--preserve-status", "-s", signal, "2",
                               RINGSIDE_PROGRAM, "bench", "--time", "100s", "-a", "ring"});
  return run_program(words, {.environment = {"RINGSIDE_PROGRESS=always", mark}});
}

/// Running processes that inherited this entry of the environment; the dead have none.
std::vector<std::string> processes_with(const std::string& entry) {
  std::vector<std::string> found;
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(process.path() / "environ");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.find(entry) != std::string::npos) found.push_back(process.path().filename());
  }
  return found;
}

TEST(BenchCommand, ASignalLeavesNoLineAndNoProcessBehind) {
  const std::string mark = "INTERRUPTED_BY_TEST=" + std::to_string(::getpid());
  for (const auto& [signal, number] : {std::pair{"INT", 2}, {"TERM", 15}}) {
    SCOPED_TRACE(signal);
    const auto result = interrupted(signal, {}, mark);
    EXPECT_EQ(result.exit_code, 128 + number);
    for (const auto& line : lines_of(result.output))  // the header is out, no row is
      EXPECT_TRUE(line.starts_with("#")) << line;
    EXPECT_NE(result.error.find("0 of 16"), std::string::npos) << result.error;
    EXPECT_TRUE(result.error.ends_with("\r\x1b[K")) << result.error;
  }
  const auto result = interrupted("INT", {"--compare", "openmpi"}, mark);
  if (result.error.find("is not beside this one") == std::string::npos) {
    EXPECT_EQ(result.exit_code, 128 + 2) << result.error;
  }
  EXPECT_EQ(processes_with(mark), std::vector<std::string>());
}

TEST(BenchCommand, AFileThatCannotBeWrittenIsFoundOutBeforeMeasuring) {
  for (const std::string path : {"/no/such/folder/file", "/tmp"}) {
    SCOPED_TRACE(path);
    const auto result =
        bench({"--time", "100s", "--output", path}, {.limit = std::chrono::seconds{20}});
    EXPECT_FALSE(result.timed_out);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(lines_of(result.error).size(), 1U) << result.error;
    EXPECT_NE(result.error.find("cannot write \"" + path), std::string::npos) << result.error;
  }
}

TEST(BenchCommand, AFullDiskIsNamed) {
  const std::string program = RINGSIDE_PROGRAM;
  const auto result = run_program(
      {"/bin/sh", "-c", "exec " + program + " bench -a ring -b 8 -e 8 -n 1 >/dev/full"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.error, "ringside: cannot write standard output: no space left on device\n");
}

TEST(BenchCommand, AMistypedVariableIsWarnedAbout) {
  const auto result =
      bench(small({"--algorithm", "ring"}), {.environment = {"RINGSIDE_TIMEOUTT=3"}});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(lines_of(result.error).size(), 1U) << result.error;
  EXPECT_NE(result.error.find("did you mean RINGSIDE_TIMEOUT?"), std::string::npos) << result.error;
}

}  // namespace
}  // namespace ringside::tests
