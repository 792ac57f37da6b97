// SPDX-License-Identifier: MIT
/// What is odd is said, with its place; what is fine is left alone.
#include "ringside/topology/lint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ringside/base/file.hpp"
#include "ringside/topology/build/build_topology.hpp"
#include "ringside/topology/presets/presets.hpp"
#include "ringside/topology/writers/nccl_xml.hpp"

namespace ringside::tests {
namespace {

std::vector<Finding> lint_xml(const std::string& text) {
  const auto readings = read_text(text, "text");
  return lint_nccl_xml(std::get<NcclXml>(readings.at(0).facts));
}

bool says(const std::vector<Finding>& findings, const std::string& part, int line = -1) {
  return std::ranges::any_of(findings, [&](const Finding& finding) {
    return finding.text.find(part) != std::string::npos && (line < 0 || finding.line == line);
  });
}

const std::string right =
    R"(<system version="1">
  <cpu numaid="0" affinity="ff" arch="x86_64" vendor="AuthenticAMD" familyid="23" modelid="49">
    <pci busid="0000:01:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="80" rank="0" gdr="1">
        <nvlink target="0000:02:00.0" count="4" tclass="0x030200"/>
      </gpu>
    </pci>
    <pci busid="0000:02:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="1" sm="80" rank="1" gdr="1">
        <nvlink target="0000:01:00.0" count="4" tclass="0x030200"/>
      </gpu>
    </pci>
  </cpu>
</system>
)";

std::string with(std::string text, const std::string& old_part, const std::string& part) {
  const auto at = text.find(old_part);
  EXPECT_NE(at, std::string::npos) << old_part;
  return text.replace(at, old_part.size(), part);
}

TEST(LintXml, LeavesARightFileAlone) {
  EXPECT_TRUE(lint_xml(right).empty());
  EXPECT_TRUE(lint_nccl_text(clean_text(right)).empty());
}

TEST(LintXml, SaysWhatNcclIgnoresOrMisreads) {
  EXPECT_TRUE(says(lint_xml(with(right, "version=\"1\"", "version=\"3\"")), "version", 1));
  EXPECT_TRUE(says(lint_xml(with(right, " vendor=\"AuthenticAMD\"", "")), "needs a vendor", 2));
  EXPECT_TRUE(says(lint_xml(with(right, "16.0 GT/s", "17 GT/s")), "no speed that NCCL knows", 3));
  EXPECT_TRUE(
      says(lint_xml(with(right, "link_width=\"16\"", "link_width=\"0\"")), "NCCL takes 16", 3));
  EXPECT_TRUE(
      says(lint_xml(with(right, "class=\"0x030200\"", "class=\"0x060400\"")), "holds a <gpu>", 3));
  EXPECT_TRUE(says(lint_xml(with(right, "count=\"4\"", "count=\"2\"")), "at the other end", 5));
  EXPECT_TRUE(
      says(lint_xml(with(right, "0000:02:00.0", "0000:09:00.0")), "no device has the bus id", 5));
  EXPECT_TRUE(says(lint_xml(with(right, "rank=\"1\"", "rank=\"0\"")), "no rank of its own", 9));
  EXPECT_TRUE(
      says(lint_xml(with(right, "</cpu>", "<gpu dev=\"7\"/></cpu>")), "no place under <cpu>"));
  EXPECT_TRUE(says(lint_xml(with(right, "0000:01:00.0", "0000:0A:00.0")), "small letters", 3));
}

TEST(LintXml, SaysWhatNcclsParserDoesNotKnow) {
  const auto text = [](const std::string& content) { return lint_nccl_text(clean_text(content)); };
  EXPECT_TRUE(says(text("<?xml version=\"1.0\"?>\n" + right), "<?xml", 1));
  EXPECT_TRUE(says(text(with(right, "    <pci", "\t<pci")), "tabs", 3));
  EXPECT_TRUE(says(text(with(right, "dev=\"0\" sm", "dev=\"0\"  sm")), "one blank", 4));
}

TEST(LintXml, FindsNothingWorseThanNotesInWhatWeWrite) {
  for (const char* name : {"dgx1v", "p4d", "dgx-h100", "8gpu-two-sockets"}) {
    SCOPED_TRACE(name);
    const auto xml = nccl_xml(make_preset(name).value());
    EXPECT_TRUE(lint_nccl_text(clean_text(xml)).empty());
    for (const auto& finding : lint_xml(xml))
      EXPECT_EQ(finding.severity, Severity::note) << finding.text;
  }
}

TEST(LintMatrix, SeesABridgeThatLacksALink) {
  const auto readings = read_text(
      read_file(std::string(RINGSIDE_TEST_DATA) + "/corpus/topo/007-2x3090-nv3-partial-bridge.txt"),
      "007");
  EXPECT_TRUE(says(lint_link_matrix(std::get<LinkMatrix>(readings.at(0).facts)), "3 NVLinks"));
}

TEST(LintMatrix, SeesAffinitiesThatDoNotFit) {
  const auto lint = [](const std::string& text) {
    return lint_link_matrix(std::get<LinkMatrix>(read_text(text, "text").at(0).facts));
  };
  const std::string head = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n";
  EXPECT_TRUE(says(lint(head + "GPU0\t X \tSYS\t0-3\t1\nGPU1\tSYS\t X \t0-3\t1\n"), "SYS apart"));
  EXPECT_TRUE(
      says(lint(head + "GPU0\t X \tPIX\t0-3\t0\nGPU1\tPIX\t X \t4-7\t1\n"), "NUMA nodes 0 and 1"));
  EXPECT_TRUE(lint(head + "GPU0\t X \tSYS\t0-3\t0\nGPU1\tSYS\t X \t4-7\t1\n").empty());
}

TEST(LintTopology, SeesNarrowSlots) {
  EXPECT_TRUE(says(lint_topology(make_preset("4gpu-pcie4-x4-slot").value()), "GPU3 uses 4 of 16"));
  EXPECT_TRUE(lint_topology(make_preset("4gpu-pcie4-one-root").value()).empty());
}

TEST(LintTopology, SeesPeersKeptApart) {
  const auto readings = read_text(
      read_file(std::string(RINGSIDE_TEST_DATA) + "/corpus/topo/075-2x2080ti-pix-p2p-ns.txt"),
      "075");
  EXPECT_TRUE(says(lint_topology(build_topology(readings).topology), "GPU0 and GPU1 are PIX"));
}

TEST(LintTopology, NotesPeersKeptApartThoughFar) {
  Topology topology = make_preset("4gpu-pcie4-one-root").value();
  const auto gpus = topology.gpus();
  topology.peer_access = {
      {.from = gpus[0], .to = gpus[1], .capability = "r", .status = "GNS"},
      {.from = gpus[1], .to = gpus[0], .capability = "r", .status = "GNS"},
      {.from = gpus[0], .to = gpus[2], .capability = "n", .status = "NS"}};  // no NVLink: as it is
  const auto findings = lint_topology(topology);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front().severity, Severity::note);
  EXPECT_TRUE(says(findings, "1 pair of GPUs"));
}

}  // namespace
}  // namespace ringside::tests
