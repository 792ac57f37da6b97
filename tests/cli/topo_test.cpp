// SPDX-License-Identifier: MIT
/// `ringside topo` as people use it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/base/file.hpp"
#include "ringside/tests/cli/ringside_program.hpp"

namespace ringside::tests {
namespace {

using nlohmann::json;

std::string corpus(const std::string& name) {
  return std::string(RINGSIDE_TEST_DATA) + "/corpus/topo/" + name + ".txt";
}

const std::string matrix = "019-4x3090-nvlink-pairs-02-13";

std::string output_of(std::vector<std::string> words, const ProgramInput& input = {}) {
  words.insert(words.begin(), "topo");
  const auto result = ringside_program(words, input);
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(result.error, "");
  return result.output;
}

TEST(Topo, NamesTheReaderAndDrawsTheMachine) {
  const auto page = output_of({corpus(matrix)});
  for (const std::string_view part :
       {"nvidia-smi topo -m (lines 2 to 6)", "4 GPUs, 1 NUMA node", "host1 [inferred]",
        "4 NVLinks: GPU0-GPU2 GPU1-GPU3", "GPU0\t X \tPHB\tNV4\tNODE", "share, in one direction"})
    EXPECT_TRUE(contains(page, part)) << part << " in\n" << page;
}

TEST(Topo, ReadsStandardInput) {
  const auto page = output_of({"-"}, {.text = read_file(corpus(matrix))});
  EXPECT_TRUE(contains(page, "standard input: nvidia-smi topo -m"));
}

TEST(Topo, PrintsJsonWithTheFactsAndTheTopology) {
  const auto facts = json::parse(output_of({corpus(matrix), "--format", "json"}));
  const auto expected = json::parse(
      read_file(std::string(RINGSIDE_TEST_DATA) + "/corpus/topo/" + matrix + ".expect.json"));
  for (const auto& [key, value] : expected.items()) EXPECT_EQ(facts[key], value) << key;
  EXPECT_EQ(facts["readings"][0]["reader"], "nvidia-smi topo -m");
  EXPECT_EQ(facts["topology"]["ringside_topology"], 1);
}

TEST(Topo, WhatOthersWroteIsShownAndNotObeyed) {
  auto machine = output_of({"4gpu-pcie4-one-root", "--format", "json"});
  const std::string name = "\"GPU1\"";
  // By ESC, by its form of eight bits, and by a mark that turns the direction of writing.
  const std::string other =
      "\"GPU1\\u001b[2J\xc2\x9b"
      "2J\xe2\x80\xae\"";
  ASSERT_TRUE(contains(machine, name));
  for (auto at = machine.find(name); at != std::string::npos; at = machine.find(name, at + 1))
    machine.replace(at, name.size(), other);
  for (const std::string format : {"text", "json", "matrix", "dot"}) {
    const auto page = output_of({"-", "--format", format}, {.text = machine});
    EXPECT_TRUE(contains(page, "GPU1")) << page;
    for (const std::string_view control : {"\x1b", "\xc2\x9b", "\xe2\x80\xae"})
      EXPECT_FALSE(contains(page, control)) << format;
    if (format == "json") {
      EXPECT_EQ(json::parse(page)["topology"]["ringside_topology"], 1);
    }
  }
  EXPECT_TRUE(contains(output_of({"-"}, {.text = machine}), "GPU1\\u001b[2J\\u009b2J\\u202e"));
}

TEST(Topo, ShowsWhomTheDriverKeepsApart) {
  const auto page = output_of({corpus("075-2x2080ti-pix-p2p-ns")});
  EXPECT_TRUE(contains(page, "Without peer access, as the driver says:\nnone reaches another (NS)"))
      << page;
  EXPECT_FALSE(contains(output_of({"4gpu-pcie4-one-root"}), "Without peer access"));
}

TEST(Topo, ReadsItsOwnJsonAndXml) {
  for (const char* format : {"json", "xml"}) {
    const auto written = output_of({"dgx1v", "--format", format});
    const auto page = output_of({"-"}, {.text = written});
    EXPECT_TRUE(contains(page, "8 GPUs, 4 NICs, 2 NUMA nodes, 4 PCIe switches")) << page;
  }
}

TEST(Topo, PutsSeveralInputsTogether) {
  const auto page = output_of({corpus("076-2x3090-phb-patched-p2p-ok"), "-"},
                              {.text = "index, pcie.link.gen.max, pcie.link.width.max, "
                                       "pcie.link.gen.current, pcie.link.width.current\n"
                                       "0, 4, 16, 1, 16\n1, 4, 16, 1, 8\n"});
  EXPECT_TRUE(contains(page, "standard input: nvidia-smi --query-gpu CSV")) << page;
  EXPECT_TRUE(contains(page, "GPU1  PCIe 4.0 x8 (of 4.0 x16)")) << page;
}

TEST(Topo, RefusesFilesOfDifferentMachines) {
  const auto result = ringside_program({"topo", corpus(matrix), corpus("006-2x2080ti-nv2-vm4cpu")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.error, "different machines")) << result.error;
}

TEST(Topo, AnUnknownFileGetsOneLineOfWhatIsUnderstood) {
  const auto result = ringside_program({"topo", "-"}, {.text = "hello\nworld\n"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output, "");
  EXPECT_EQ(lines_of(result.error).size(), 1U);
  for (const std::string_view part : {"topo -m", "NCCL topology XML", "lspci", "nccl-tests"})
    EXPECT_TRUE(contains(result.error, part)) << result.error;
}

TEST(Topo, RefusesWhatMustNotBeGuessed) {
  const auto result = ringside_program({"topo", corpus("013-3gpu-node-html-glued")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.error, "separators")) << result.error;
}

TEST(Topo, WarnsOfWhatIsCut) {
  const auto page = output_of({corpus("067-dgxa100-12nic-cut")});
  EXPECT_TRUE(contains(page, "warning: line 7: the matrix is cut: no row of GPU5")) << page;
}

TEST(Topo, ListsItsPresetsWithTheirSources) {
  const auto list = output_of({"--list-presets"});
  for (const std::string_view name :
       {"4gpu-pcie4-one-root", "dgx-h100", "nvl72", "fat-tree:boxes=N"})
    EXPECT_TRUE(contains(list, name));
  EXPECT_EQ(json::parse(output_of({"--list-presets", "--format", "json"}))["presets"].size(), 19U);
}

TEST(Topo, SuggestsAPresetForAMisspeltOne) {
  const auto result = ringside_program({"topo", "dgx-a10"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.error, "did you mean \"dgx-a100\"?")) << result.error;
}

TEST(Topo, LintsWithAnExitCode) {
  const auto odd = ringside_program({"topo", "--lint", "4gpu-pcie4-x4-slot"});
  EXPECT_EQ(odd.exit_code, 1);
  EXPECT_EQ(odd.output, "warning: GPU3 uses 4 of 16 PCIe lanes\n");
  const auto fine = ringside_program({"topo", "--lint", "4gpu-pcie4-one-root"});
  EXPECT_EQ(fine.exit_code, 0);
  EXPECT_EQ(fine.output, "nothing is odd\n");
}

TEST(Topo, SaysWhyAMatrixIsNoXml) {
  const auto result = ringside_program({"topo", corpus(matrix), "--format", "xml"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.error, "the bus id of GPU0 is not known")) << result.error;
}

TEST(Topo, NeedsAnInput) {
  EXPECT_EQ(ringside_program({"topo"}).exit_code, 2);
  EXPECT_EQ(ringside_program({"topo", "dgx1v", "dgx-a100"}).exit_code, 2);
}

}  // namespace
}  // namespace ringside::tests
