// SPDX-License-Identifier: MIT
/// What is taken as evidence: which lines are understood, which are shown, what is refused.
#include "ringside/topology/diagnose/evidence.hpp"

#include <gtest/gtest.h>

#include "ringside/base/error.hpp"

namespace ringside::tests {
namespace {

Evidence evidence_from(const std::string& text) {
  return read_evidence(std::vector<EvidenceText>{{"text", text}});
}

std::string value(const Evidence& evidence, HostFactKind kind, std::string_view key) {
  const auto found = evidence.host_value(kind, key);
  return found ? found->value : "(nothing)";
}

TEST(Evidence, ReadsTheKernelsCommandLine) {
  const auto evidence =
      evidence_from("$ cat /proc/cmdline\nBOOT_IMAGE=/vmlinuz root=UUID=1 ro iommu=pt quiet\n");
  EXPECT_EQ(value(evidence, HostFactKind::kernel_parameter, "iommu"), "pt");
  EXPECT_EQ(value(evidence, HostFactKind::kernel_parameter, "quiet"), "");
  EXPECT_EQ(evidence.host_value(HostFactKind::kernel_parameter, "iommu")->line.number, 2);
}

TEST(Evidence, ReadsSharedMemoryInTheUnitsOfItsHeading) {
  const std::string head = "Filesystem     1K-blocks  Used Available Use% Mounted on\n";
  const auto blocks = evidence_from(head + "shm  65536 1024 64512 2% /dev/shm\n");
  EXPECT_EQ(value(blocks, HostFactKind::shared_memory, "size"), "67108864");
  EXPECT_EQ(value(blocks, HostFactKind::shared_memory, "available"), "66060288");
  const auto human = evidence_from(
      "Filesystem      Size  Used Avail Use% Mounted on\nshm              64M     0   64M   0% "
      "/dev/shm\n");
  EXPECT_EQ(value(human, HostFactKind::shared_memory, "size"), "67108864");
}

TEST(Evidence, ReadsLimitsOfShellAndProcess) {
  EXPECT_EQ(value(evidence_from("max locked memory       (kbytes, -l) 64\n"), HostFactKind::limit,
                  "memlock"),
            "65536");
  EXPECT_EQ(value(evidence_from("$ ulimit -l\nunlimited\n"), HostFactKind::limit, "memlock"),
            "unlimited");
  EXPECT_EQ(value(evidence_from("Max locked memory         8388608     8388608      bytes\n"),
                  HostFactKind::limit, "memlock"),
            "8388608");
}

TEST(Evidence, TakesVariablesWhereTheyAreSetNotWhereTheyAreTalkedAbout) {
  const auto set = evidence_from("user@host:~$ NCCL_P2P_DISABLE=1 NCCL_DEBUG=INFO python t.py\n");
  EXPECT_EQ(set.environment("NCCL_P2P_DISABLE")->value, "1");
  EXPECT_EQ(set.environment("NCCL_DEBUG")->value, "INFO");
  EXPECT_THROW((void)evidence_from("I also tried NCCL_P2P_DISABLE=1, which helped\n"), Error);
}

TEST(Evidence, TakesNoCommentForAVariable) {
  const auto value = [](const std::string& text) {
    const auto found = evidence_from("Socket(s): 1\n" + text).environment("NCCL_P2P_DISABLE");
    return found ? found->value : "";
  };
  EXPECT_EQ(value("# NCCL_P2P_DISABLE=1\n"), "");
  EXPECT_EQ(value("  # export NCCL_P2P_DISABLE=1\n"), "");
  EXPECT_EQ(value("export NCCL_IB_HCA=mlx5_0 # NCCL_P2P_DISABLE=1\n"), "");
  EXPECT_EQ(value("root@box:~# NCCL_P2P_DISABLE=1 python t.py\n"), "1");
  EXPECT_EQ(value("/ # export NCCL_P2P_DISABLE=1\n"), "1");
}

TEST(Evidence, AVariableThatIsUnsetIsNotSet) {
  EXPECT_FALSE(evidence_from("export NCCL_P2P_DISABLE=1\nunset NCCL_P2P_DISABLE\n")
                   .environment("NCCL_P2P_DISABLE"));
  EXPECT_TRUE(evidence_from("unset NCCL_P2P_DISABLE\nexport NCCL_P2P_DISABLE=1\n")
                  .environment("NCCL_P2P_DISABLE"));
}

TEST(Evidence, KnowsTheRanksThatATableLists) {
  const auto evidence = evidence_from(
      "# nccl-tests version 2.17.6 nccl-headers=22501 nccl-library=22602\n"
      "#  Rank  0 Group  0 Pid   5425 on      host1 device  0 [0x81] NVIDIA A100-PCIE-40GB\n"
      "#  Rank  1 Group  0 Pid   4962 on      host2 device  3 [0x81] NVIDIA A100-PCIE-40GB\n"
      "     1048576        262144     float     sum      -1   3332.3    0.31    0.31      0   "
      "3392.5 "
      "   0.31    0.31      0\n");
  const auto& table = *evidence.all<CollectiveRows>().front().facts;
  ASSERT_EQ(table.listed.size(), 2U);
  EXPECT_EQ(table.listed[1].rank, 1);
  EXPECT_EQ(table.listed[1].host, "host2");
  EXPECT_EQ(table.listed[1].device, 3);
  EXPECT_EQ(table.nccl_code, 22602);
  EXPECT_EQ(evidence.gpu_models(), std::vector<std::string>{"NVIDIA A100-PCIE-40GB"});
}

TEST(Evidence, KnowsWhichNetworkNcclUses) {
  const auto evidence = evidence_from(
      "host1:1:1 [0] NCCL INFO NET/IB : No device found.\n"
      "host1:1:1 [0] NCCL INFO Using network Socket\n");
  const auto& log = *evidence.all<NcclLog>().front().facts;
  EXPECT_EQ(log.network, "Socket");
  EXPECT_TRUE(log.no_infiniband);
}

TEST(Evidence, KnowsThatSwitchesAreNotSetUp) {
  EXPECT_EQ(value(evidence_from("CUDA error: system not yet initialized\n"),
                  HostFactKind::complaint, "fabric"),
            "CUDA error: system not yet initialized");
}

TEST(Evidence, CountsUnknownLinesAndRefusesWhatHasNothingElse) {
  const auto evidence = evidence_from("hello\n\nBOOT_IMAGE=/vmlinuz ro\nwhat is this\n");
  EXPECT_EQ(evidence.sources.front().lines, 3);
  EXPECT_EQ(evidence.sources.front().unknown, 2);
  EXPECT_THROW((void)evidence_from("nothing of interest\n"), Error);
}

TEST(Evidence, TheLegendsOfNvidiaSmiAreUnderstood) {
  const auto evidence = evidence_from(
      "\tGPU0\tNIC0\nGPU0\t X \tPHB\nNIC0\tPHB\t X \n\nLegend:\n\n  X    = Self\n"
      "  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)\n"
      "  NV#  = Connection traversing a bonded set of # NVLinks\n\nNIC Legend:\n\n"
      "  NIC0: mlx5_0\n\n  GNS  = GPU not supported\n  ABC  = no key of theirs\n  NICE: it is\n");
  EXPECT_EQ(evidence.sources.front().lines, 5);
  EXPECT_EQ(evidence.sources.front().unknown, 2) << "ABC and NICE";
}

TEST(Evidence, RefusesTwoMachines) {
  const std::string two = "\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n";
  const std::string three =
      "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tPHB\tSYS\nGPU1\tPHB\t X \tSYS\nGPU2\tSYS\tSYS\t X \n";
  EXPECT_THROW((void)evidence_from(two + "\n" + three), Error);
}

std::string refusal_of(const std::vector<EvidenceText>& texts) {
  try {
    (void)read_evidence(texts);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// Two boxes with as many GPUs, linked alike.
TEST(Evidence, TellsMachinesApartByTheModelsOfTheirGpus) {
  const auto csv = [](const std::string& model) {
    return "index, name, pci.bus_id, pcie.link.width.current\n0, " + model +
           ", 00000000:01:00.0, 16\n";
  };
  EXPECT_NE(refusal_of({{"a", csv("NVIDIA A40")}, {"b", csv("NVIDIA L4")}})
                .find("a lists a40, b lists l4"),
            std::string::npos);
  EXPECT_EQ(refusal_of({{"a", csv("NVIDIA A40")}, {"b", csv("A40")}}), "");
}

/// A job may leave GPUs out, but not have more of one host than it has.
TEST(Evidence, RefusesTablesAndLogsOfMoreGpusThanTheMatrixHas) {
  const std::string two = "\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n";
  const auto table = [](int device) {
    return "#  Rank  0 Group  0 Pid  1 on  host1 device  " + std::to_string(device) +
           " [0x01] NVIDIA L40S\n#       size         count      type   redop    root     time   "
           "algbw   busbw #wrong     time   algbw   busbw #wrong\n   268435456      67108864     "
           "float     sum      -1   1290.0   4.00   4.00      0  1290.3   4.00   4.00      0\n";
  };
  EXPECT_EQ(refusal_of({{"a", two}, {"b", table(1)}}), "");
  EXPECT_NE(refusal_of({{"a", two}, {"b", table(3)}}).find("a lists 2 GPUs"), std::string::npos);
  const std::string log = "host1:1:2 [0] NCCL INFO Channel 00/0 : 8[0] -> 9[1] via P2P/CUMEM\n";
  EXPECT_EQ(refusal_of({{"a", two}, {"b", log}}), "") << "of another host than the first";
  EXPECT_NE(refusal_of({{"a", two}, {"b", log + "host1:1:3 [2] NCCL INFO x\n"}}), "");
}

TEST(Evidence, NamesALogOfFewerRanksThanTheMatrixHasGpus) {
  const auto notes = [](const std::string& ring) {
    return evidence_from(
               "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tPHB\tPHB\nGPU1\tPHB\t X \tPHB\n"
               "GPU2\tPHB\tPHB\t X \n\nhost1:1:2 [0] NCCL INFO Channel 00/02 : " +
               ring + "\n")
        .built->findings;
  };
  EXPECT_TRUE(notes("0 1 2").empty());
  ASSERT_EQ(notes("0 1").size(), 1U);
  EXPECT_NE(notes("0 1")[0].text.find("2 ranks, the machine 3 GPUs"), std::string::npos);
}

TEST(Evidence, RefusesProcessorsOfTwoMachines) {
  EXPECT_NE(refusal_of({{"a", "Socket(s): 1\n"}, {"b", "Socket(s): 2\n"}})
                .find("Socket(s) is 1 in a and 2 in b"),
            std::string::npos);
  EXPECT_EQ(refusal_of({{"a", "Socket(s): 2\n"}, {"b", "Socket(s): 2\n"}}), "");
}

TEST(Evidence, RefusesMatricesOfPeerAccessThatContradictEachOther) {
  const auto matrix = [](const std::string& status) {
    return "$ nvidia-smi topo -p2p r\n \tGPU0\tGPU1\t\n GPU0\tX\t" + status + "\t\n GPU1\t" +
           status + "\tX\t\n";
  };
  EXPECT_NE(refusal_of({{"a", matrix("OK")}, {"b", matrix("GNS")}}), "");
  EXPECT_EQ(refusal_of({{"a", matrix("OK")}, {"b", matrix("OK")}}), "");
}

TEST(Evidence, KeepsFilesOfOneNameApart) {
  const auto evidence = read_evidence(std::vector<EvidenceText>{
      {"a", "BOOT_IMAGE=/x iommu=pt\n"}, {"a", "\n\nBOOT_IMAGE=/x iommu=off\n"}});
  const auto values = evidence.host(HostFactKind::kernel_parameter, "iommu");
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[0].line.text, "BOOT_IMAGE=/x iommu=pt");
  EXPECT_EQ(values[1].line.number, 3);
}

}  // namespace
}  // namespace ringside::tests
