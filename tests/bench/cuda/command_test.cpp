// SPDX-License-Identifier: MIT
/// `ringside bench --backend cuda` and `--backend nccl` as people call them, on virtual devices and
/// without any.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/base/text.hpp"
#include "ringside/tests/bench/nccl_rows.hpp"
#include "ringside/tests/support/run_program.hpp"

namespace ringside::tests {
namespace {

const std::string fake_nccl = "RINGSIDE_NCCL_LIBRARY=" RINGSIDE_FAKENCCL "/usual/libnccl.so.2";

ProgramResult bench(const std::string& words, std::vector<std::string> environment = {}) {
  std::vector<std::string> command = {RINGSIDE_PROGRAM, "bench"};
  for (const auto word : split_blanks(words)) command.emplace_back(word);
  environment.insert(environment.begin(), fake_nccl);
  return run_program(command, {.environment = std::move(environment)});
}

const std::string allowed = " --allow-virtual -b 64 -e 4K -f 64 -n 2 --rounds 1 ";

void expect_refusal(const ProgramResult& result, std::string_view words, const std::string& of) {
  EXPECT_EQ(result.exit_code, 2) << of;
  EXPECT_EQ(result.output, "") << of;
  EXPECT_EQ(lines_of(result.error).size(), 1U) << of << "\n" << result.error;
  EXPECT_NE(result.error.find(words), std::string::npos) << of << "\n" << result.error;
}

TEST(GpuCommand, ARunOnVirtualDevicesIsCheckedAndPrintsNoTime) {
  const auto result = bench("--backend cuda -a ring --issue both --devices 0,1,1" + allowed);
  EXPECT_EQ(result.exit_code, 0) << result.error;
  const std::string& text = result.output;
  EXPECT_NE(text.find("# algorithm: ring [streams]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# algorithm: ring [graphs]\n"), std::string::npos);
  EXPECT_NE(text.find("backend cuda: checked, not measured, calls issued as graphs"),
            std::string::npos);
  EXPECT_NE(text.find("# CUDA: driver 13.0, runtime 13.0\n"), std::string::npos);
  EXPECT_NE(text.find("# virtual devices: nothing was measured\n"), std::string::npos);
  EXPECT_NE(text.find("# 3 ranks on 2 GPUs: "), std::string::npos);
  EXPECT_NE(text.find("device  1 [0000:02:00] virtual device 1"), std::string::npos);
  std::size_t rows = 0;
  for (const auto& line : lines_of(text)) {
    if (line.starts_with("#") || line.empty()) continue;
    ++rows;
    const auto fields = split_blanks(line);
    ASSERT_EQ(fields.size(), 13U) << line;
    for (const std::size_t time : {5, 6, 7, 9, 10, 11}) EXPECT_EQ(fields[time], "-") << line;
    for (const std::size_t wrong : {8, 12}) EXPECT_EQ(fields[wrong], "0") << line;
  }
  EXPECT_EQ(rows, 4U);
}

TEST(GpuCommand, TablesCsvAndTheSummaryHaveNoTimesEither) {
  const auto table =
      bench("--backend cuda -a ring,two_shot --compare nccl --format table --summary" + allowed);
  EXPECT_EQ(table.exit_code, 0) << table.error;
  EXPECT_NE(table.output.find("# GPU 3 [0000:04:00.0] virtual device 3"), std::string::npos)
      << table.output;
  EXPECT_NE(table.output.find("NCCL 2.28.9"), std::string::npos);
  EXPECT_NE(table.output.find("Virtual devices: nothing was measured."), std::string::npos);
  EXPECT_EQ(table.output.find("nan"), std::string::npos) << table.output;

  const auto csv = bench("--backend nccl --format csv" + allowed);
  EXPECT_EQ(csv.exit_code, 0) << csv.error;
  const auto lines = lines_of(csv.output);
  ASSERT_EQ(lines.size(), 5U);
  const auto heads = split(lines[0], ',');
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto fields = split(lines[i], ',');
    ASSERT_EQ(fields.size(), heads.size());
    EXPECT_EQ(fields[0], "not measured");
    for (std::size_t field = 0; field < heads.size(); ++field) {
      const bool is_time = heads[field].ends_with("_us") || heads[field].ends_with("_GBps");
      EXPECT_EQ(is_time, fields[field].empty() && heads[field] != "ran") << heads[field];
    }
  }
}

TEST(GpuCommand, GpusAsNcclTestsUsersSayThem) {
  const auto result = bench("--backend cuda -g 2 -a ring" + allowed);
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_NE(result.output.find("virtual device 1"), std::string::npos);
  EXPECT_EQ(result.output.find("virtual device 2"), std::string::npos);
  expect_refusal(bench("--backend cuda -g 5" + allowed),
                 "there is no GPU 4: this machine has 0 to 3", "-g 5");
}

TEST(GpuCommand, VirtualDevicesAreRefused) {
  for (const auto* words : {"--backend cuda", "--backend nccl", "--backend cuda --tune -",
                            "--backend cuda --regret --collective all_reduce"})
    expect_refusal(bench(words), "a virtual device measures nothing", words);
}

TEST(GpuCommand, TheTestSwitchIsNotInHelp) {
  const auto help = bench("--help");
  EXPECT_EQ(help.output.find("allow-virtual"), std::string::npos);
  for (const auto* option : {"--devices", "--issue", "--copies", "--ngpus", "host|cuda|nccl"})
    EXPECT_NE(help.output.find(option), std::string::npos) << option;
}

TEST(GpuCommand, WhatHasNoMeaningIsRefusedInOneLine) {
  struct Refused {
    const char *words, *expected;
  };
  for (const auto& [words, expected] : std::vector<Refused>{
           {"--backend rocm", "host, cuda, nccl, mpi or openmpi"},
           {"--devices 0", "--devices has no meaning with --backend host"},
           {"--issue both", "--issue has no meaning with --backend host"},
           {"--copies all", "--copies has no meaning with --backend host"},
           {"--allow-virtual", "--allow-virtual has no meaning with --backend host"},
           {"--compare nccl", "--compare nccl: needs --backend cuda"},
           {"-g 2", "no GPUs in --backend host"},
           {"--backend cuda --allow-virtual --compare openmpi", "only nccl can be measured beside"},
           {"--backend cuda --allow-virtual --compare all", "--compare nccl"},
           {"--backend cuda --allow-virtual --devices 0,x", "--devices"},
           {"--backend cuda --allow-virtual --devices 4", "there is no GPU 4"},
           {"--backend cuda --allow-virtual -g 2 --devices 0", "both say which GPUs"},
           {"--backend cuda --allow-virtual -g 2 -t 2", "both say which GPUs"},
           {"--backend cuda --allow-virtual --issue slow", "streams, graphs or both"},
           {"--backend cuda --allow-virtual --copies slow", "auto, engine, kernel or all"},
           {"--backend cuda --allow-virtual --buffers cold", "only warm ones"},
           {"--backend cuda --allow-virtual --collective sendrecv", "not ordered in streams"},
           {"--backend cuda --allow-virtual --tune -", "no meaning beside --tune"},
           {"--backend cuda --allow-virtual --regret", "no meaning beside --regret"},
           {"--backend cuda --tune - --issue both", "one way to issue"},
           {"--backend cuda --regret --copies all", "one way to issue"},
           {"--backend nccl --allow-virtual -a ring", "NCCL chooses by itself"},
           {"--backend nccl --tune -", "NCCL chooses by itself"},
           {"--backend nccl --allow-virtual --issue graphs", "how our own calls are made"},
           {"--backend nccl --allow-virtual --compare nccl", "beside --backend cuda"},
           {"--backend nccl --allow-virtual --spread", "beside --backend cuda"},
           {"--backend nccl --allow-virtual --devices 1,1", "one rank a device"},
           {"--backend cuda --allow-virtual -b 8 -e 64G", "choose a smaller --end"},
       })
    expect_refusal(bench(words), expected, words);
}

// There is no device here: its absence must not hide the mistake.
TEST(GpuCommand, MistakesAreFoundBeforeADeviceIsAskedFor) {
  struct Mistake {
    const char *words, *expected;
  };
  for (const auto& [words, expected] : std::vector<Mistake>{
           {"--backend cuda --against new.json", "--against: needs --compare OLD.json"},
           {"--backend cuda --devices 0,1 -r 2", "--root 2 is not one of 2 ranks"},
           {"--backend cuda --ranks 4 -r 7", "--root 7 is not one of 4 ranks"},
           {"--backend cuda --buffers cold", "only warm ones"},
           {"--backend nccl --collective sendrecv", "not ordered in streams"},
           {"--backend cuda --compare openmpi", "only nccl can be measured beside"},
           {"--backend cuda --compare all", "--compare nccl"},
           {"--backend cuda -a rnig", "rnig"},
           {"--backend cuda -b 64 -e 8", "before they begin"},
           {"--backend cuda --format xml", "--format"},
           {"--backend cuda --summary --format csv", "--summary"},
           {"--backend cuda --output /nonexistent/folder/x", "/nonexistent/folder/x"},
           {"--backend cuda --tune /nonexistent/folder/x", "/nonexistent/folder/x"},
           {"--backend cuda --tune - --collective barrier", "--tune: barrier has no algorithms"},
           {"--backend cuda --tune - -g 2 --tune-time 1ms", "--tune-time: so many"},
           {"--backend cuda --regret --collective barrier", "--regret: barrier has no algorithms"},
       })
    expect_refusal(bench(words, {"FAKECUDA_DEVICES=0"}), expected, words);
  for (const auto* variable : {"RINGSIDE_CUDA_P2P", "RINGSIDE_CUDA_COPIES", "RINGSIDE_CUDA_GRAPHS"})
    expect_refusal(
        bench("--backend cuda", {"FAKECUDA_DEVICES=0", std::string(variable) + "=nonsense"}),
        std::string(variable) + ": expected a", variable);
  const auto typo = bench("--backend cuda", {"FAKECUDA_DEVICES=0", "RINGSIDE_CUDA_GRAPH=1"});
  EXPECT_EQ(typo.exit_code, 2);
  EXPECT_TRUE(typo.error.starts_with("ringside: warning: RINGSIDE_CUDA_GRAPH is set"))
      << typo.error;
}

TEST(GpuCommand, WhatIsWrongWithAListOfDevicesIsSaid) {
  struct Refused {
    const char *list, *expected;
  };
  for (const auto& [list, expected] : std::vector<Refused>{
           {"0-3", "(no ranges: write 0,1,2,3), got \"0-3\""},
           {"0,2-3", "(no ranges: write 2,3), got \"0,2-3\""},
           {"3-0", "(no ranges), got"},
           {"0, 1", "(no spaces), got"},
           {"0,,1", "(a number is missing), got"},
           {"", "(a number is missing), got"},
           {"-1", "numbers of GPUs, as in 0,1,2,3, got \"-1\""},
       })
    expect_refusal(run_program({RINGSIDE_PROGRAM, "bench", "--backend", "cuda", "--devices", list}),
                   expected, list);
}

TEST(GpuCommand, WithoutADeviceOrWithoutNcclOneLineSaysSo) {
  for (const auto* words : {"--backend cuda", "--backend nccl"})
    expect_refusal(bench(words, {"FAKECUDA_DEVICES=0"}), "no GPU: the CUDA driver finds no device",
                   words);
  const auto no_nccl = [](const std::string& words) {
    return run_program({RINGSIDE_PROGRAM, "bench", "--allow-virtual", "--backend", words},
                       {.environment = {"RINGSIDE_NCCL_LIBRARY=/nowhere/libnccl.so.2"}});
  };
  expect_refusal(no_nccl("nccl"), "NCCL is not to be found", "no library");
  expect_refusal(bench("--backend nccl --allow-virtual",
                       {"RINGSIDE_NCCL_LIBRARY=" RINGSIDE_FAKENCCL "/too_old/libnccl.so.2"}),
                 "or later is needed", "too old");
}

// The runtime itself, which every machine with the toolkit has.
TEST(GpuCommand, WithoutADriverOneLineSaysSo) {
  for (const auto* words : {"--backend cuda", "--backend nccl"}) {
    const auto result = bench(words, {"LD_LIBRARY_PATH="});
    if (result.exit_code != 2 || result.error.find("no GPU") == std::string::npos)
      GTEST_SKIP() << "this machine has a GPU: " << result.error;
    expect_refusal(result, "no GPU: the CUDA driver is not installed", words);
  }
}

}  // namespace
}  // namespace ringside::tests
