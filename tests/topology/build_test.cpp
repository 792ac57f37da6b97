// SPDX-License-Identifier: MIT
/// Machines built from matrices and files have the classes that these state, and come back from the
/// writers as they were.
#include "ringside/topology/build/build_topology.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/topology/path.hpp"
#include "ringside/topology/readers/own_json.hpp"
#include "ringside/topology/writers/json.hpp"
#include "ringside/topology/writers/matrix.hpp"
#include "ringside/topology/writers/nccl_xml.hpp"

namespace ringside::tests {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> corpus_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(RINGSIDE_TEST_DATA) / "corpus/topo"))
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

/// The matrices of all files of the corpus that can be read, each a reading of its own.
std::vector<Reading> corpus_readings() {
  std::vector<Reading> all;
  for (const auto& file : corpus_files()) try {
      auto readings = read_text(read_file(file.string()), file.filename().string());
      all.insert(all.end(), readings.begin(), readings.end());
    } catch (const Error&) {  // what is refused is the corpus test's matter
    }
  return all;
}

/// The known cells of the matrix equal the classes in the topology.
void expect_classes(const LinkMatrix& matrix, const Topology& topology, int& pairs) {
  const Medium medium = matrix.pcie_only ? Medium::pcie : Medium::any;
  for (std::size_t i = 0; i < matrix.names.size(); ++i)
    for (std::size_t j = 0; j < matrix.names.size(); ++j) {
      const auto& cell = matrix.cell(i, j);
      if (!cell) continue;
      const auto pair = link_class(topology, topology.find(matrix.names[i]).value(),
                                   topology.find(matrix.names[j]).value(), medium);
      ++pairs;
      EXPECT_EQ(pair.value, cell->value) << matrix.names[i] << " to " << matrix.names[j];
      EXPECT_TRUE(pair.decided());
      if (cell->value == LinkClass::nvlink) {
        EXPECT_EQ(pair.count, cell->count);
      }
    }
}

TEST(Build, ClassesInTheBuiltMachineEqualTheMatrixItCameFrom) {
  int matrices = 0, pairs = 0;
  for (const auto& reading : corpus_readings()) {
    const auto* matrix = std::get_if<LinkMatrix>(&reading.facts);
    if (matrix == nullptr) continue;
    SCOPED_TRACE(reading.source);
    ++matrices;
    const auto built = build_topology(std::vector<Reading>{reading});
    expect_classes(*matrix, built.topology, pairs);
  }
  std::cout << matrices << " matrices, " << pairs << " pairs of equal class\n";
  EXPECT_EQ(matrices, 78);
}

TEST(Build, AMatrixComesBackFromItsMachine) {
  int matrices = 0;
  for (const auto& reading : corpus_readings()) {
    const auto* matrix = std::get_if<LinkMatrix>(&reading.facts);
    if (matrix == nullptr) continue;
    SCOPED_TRACE(reading.source);
    ++matrices;
    const auto built = build_topology(std::vector<Reading>{reading});
    const std::string text =
        matrix_text(built.topology, {.medium = matrix->pcie_only ? Medium::pcie : Medium::any});
    const auto again = read_text(text, "written");
    ASSERT_EQ(again.size(), 1U);
    const auto& written = std::get<LinkMatrix>(again.front().facts);
    EXPECT_EQ(written.names, matrix->names);
    for (std::size_t k = 0; k < matrix->cells.size(); ++k) {
      const auto& cell = matrix->cells[k];
      if (!cell) continue;
      ASSERT_TRUE(written.cells[k].has_value());
      EXPECT_EQ(written.cells[k]->value, cell->value);
      EXPECT_EQ(written.cells[k]->count, cell->count);
    }
    for (const auto& [name, cell] : matrix->cpu_affinity)
      if (cell && !cell->empty()) {
        EXPECT_EQ(written.cpu_affinity.at(name), cell);
      }
    EXPECT_EQ(written.nic_legend, matrix->nic_legend);
    EXPECT_EQ(topology_json(build_topology(again).topology), topology_json(built.topology));
  }
  std::cout << matrices << " matrices written and read again\n";
}

TEST(Build, AnXmlFileComesBackFromItsMachine) {
  int files = 0;
  for (const auto& reading : corpus_readings()) {
    if (!std::holds_alternative<NcclXml>(reading.facts)) continue;
    SCOPED_TRACE(reading.source);
    ++files;
    const auto built = build_topology(std::vector<Reading>{reading});
    const std::string xml = nccl_xml(built.topology);
    const auto again = build_topology(read_text(xml, "written"));
    EXPECT_EQ(topology_json(again.topology), topology_json(built.topology));
    EXPECT_EQ(nccl_xml(again.topology), xml);
  }
  std::cout << files << " XML files written and read again\n";
  EXPECT_EQ(files, 15);
}

TEST(Build, OurJsonKeepsEverything) {
  for (const auto& reading : corpus_readings()) {
    const std::vector<Reading> alone{reading};
    if (!tells_links(alone)) continue;
    SCOPED_TRACE(reading.source);
    const auto built = build_topology(alone);
    EXPECT_EQ(parse_topology_json(topology_json(built.topology)), built.topology);
  }
}

/// Facts of one machine from several texts.
BuiltTopology build_from(const std::vector<std::string>& texts) {
  std::vector<Reading> all;
  for (const auto& text : texts)
    for (auto& reading : read_text(text, "text")) all.push_back(std::move(reading));
  return build_topology(all);
}

const std::string pair_matrix =
    "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tNV4\t0-7\t0\n"
    "GPU1\tNV4\t X \t0-7\t0\n";

TEST(Build, OtherTextsAddWhatTheyKnow) {
  const std::string without_nvlink =
      "$ nvidia-smi topo -mp\n\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n";
  const std::string query =
      "index, pci.bus_id, pcie.link.gen.max, pcie.link.width.max, pcie.link.gen.current, "
      "pcie.link.width.current\n"
      "0, 00000000:01:00.0, 4, 16, 1, 16\n1, 00000000:02:00.0, 4, 16, 1, 4\n";
  const std::string nvlinks =
      "GPU 0: RTX 3090 (UUID: x)\n\t Link 0: 14.062 GB/s\n\t Link 1: 14.062 GB/s\n"
      "\t Link 2: 14.062 GB/s\n\t Link 3: 14.062 GB/s\n"
      "GPU 1: RTX 3090 (UUID: y)\n\t Link 0: 14.062 GB/s\n\t Link 1: 14.062 GB/s\n"
      "\t Link 2: 14.062 GB/s\n\t Link 3: 14.062 GB/s\n";
  const std::string peers = "$ nvidia-smi topo -p2p r\n \tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\tX\n";
  const auto built = build_from({pair_matrix, without_nvlink, query, nvlinks, peers});
  const Topology& topology = built.topology;
  const NodeId first = topology.find("GPU0").value(), second = topology.find("GPU1").value();
  EXPECT_EQ(link_class(topology, first, second, Medium::pcie).value, LinkClass::pix);
  EXPECT_EQ(to_string(link_class(topology, first, second)), "NV4");
  EXPECT_EQ(topology.node(second).address, (PciAddress{0, 2, 0, 0}));
  EXPECT_EQ(topology.node(first).model, "RTX 3090");
  const Link& slot = topology.link(topology.link_up(second).value());
  EXPECT_EQ(slot.generation, 4) << "an idle link is no slow link";
  EXPECT_EQ(slot.width, 4);
  EXPECT_EQ(slot.most_width, 16);
  const Link& bridge = topology.link(route(topology, first, second)->front());
  EXPECT_DOUBLE_EQ(bridge.bandwidth.value(), 4 * 14.062);
  ASSERT_EQ(topology.peer_access.size(), 2U);
  EXPECT_EQ(topology.peer_access[0].capability, "r");
}

/// A matrix has no addresses: a list of some GPUs says nothing against it.
TEST(Build, APartOfAListOfGpusIsKeptWithoutAPlace) {
  const std::string one =
      "pci.bus_id, pcie.link.width.max, pcie.link.width.current\n00000000:02:00.0, 16, 4\n";
  const auto built = build_from({pair_matrix, one});
  EXPECT_FALSE(built.topology.node(built.topology.gpus()[0]).address);
  EXPECT_TRUE(std::ranges::any_of(built.findings, [](const Finding& finding) {
    return finding.text.find("lists 1 of 2 GPUs") != std::string::npos;
  }));
  const std::string both =
      "pci.bus_id, pcie.link.width.max\n00000000:01:00.0, 16\n00000000:02:00.0, 16\n";
  const auto placed = build_from({pair_matrix, one, both}).topology;
  EXPECT_EQ(placed.link(placed.link_up(placed.gpus()[1]).value()).width, 4);
  const std::string elsewhere = "pci.bus_id, pcie.link.width.max\n00000000:03:00.0, 16\n";
  EXPECT_THROW((void)build_from({pair_matrix, both, elsewhere}), Error);
}

TEST(Build, TextsOfDifferentMachinesAreRefused) {
  const std::string other = "\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n";
  EXPECT_THROW((void)build_from({pair_matrix, other}), Error);
  const std::string three =
      "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tPHB\tPHB\nGPU1\tPHB\t X \tPHB\nGPU2\tPHB\tPHB\t X \n";
  EXPECT_THROW((void)build_from({pair_matrix, three}), Error);
  EXPECT_THROW((void)build_from({pair_matrix, "index, pcie.link.gen.max\n5, 4\n"}), Error);
}

constexpr const char* one_gpu_file =
    "<system version=\"1\"><cpu numaid=\"0\" affinity=\"ff\" arch=\"x86_64\">"
    "<pci busid=\"0000:41:00.0\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\">"
    "<gpu dev=\"0\" sm=\"80\" rank=\"0\" gdr=\"0\"/></pci></cpu></system>";

TEST(Build, AGpuThatOnlyTheMatrixHasMakesTheInputsOfDifferentMachines) {
  try {
    (void)build_from({one_gpu_file, "\tGPU7\tNIC0\nGPU7\t X \tNV18\nNIC0\tNV18\t X \n"});
    FAIL() << "the file has GPU0 only";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "the inputs are of different machines: one has GPU7, another does not");
  }
}

TEST(Build, ANvlinkOfANicIsLeftOutAndSaid) {
  const auto built =
      build_from({"\tGPU0\tGPU1\tNIC0\nGPU0\t X \tNV4\tNV4\nGPU1\tNV4\t X \tPHB\n"
                  "NIC0\tNV4\tPHB\t X \n"});
  int nvlinks = 0;
  for (const auto& link : built.topology.links()) nvlinks += link.kind == LinkKind::nvlink ? 1 : 0;
  EXPECT_EQ(nvlinks, 2);  // each way
  EXPECT_TRUE(std::ranges::any_of(built.findings, [](const Finding& finding) {
    return finding.text == "GPU0 to NIC0 is NV4, which joins GPUs only: left out";
  }));
}

TEST(Build, AMatrixThatNoTreeHasIsRefusedWithThePairs) {
  try {
    (void)build_from(
        {"\tGPU0\tGPU1\tGPU2\nGPU0\t X \tPIX\tSYS\nGPU1\tPIX\t X \tPIX\n"
         "GPU2\tSYS\tPIX\t X \n"});
    FAIL() << "PIX is transitive";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_STREQ(error.what(),
                 "no machine is wired so: GPU0 to GPU2 is SYS, but GPU0 to GPU1 is PIX and GPU1 to "
                 "GPU2 is PIX");
  }
}

TEST(Build, AMatrixThatIsNotSymmetricIsRefused) {
  EXPECT_THROW((void)build_from({"\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPHB\t X \n"}), Error);
}

TEST(Build, WhatNoInputTellsIsMarkedAsOpen) {
  // All pairs are hidden behind NVLink, and the two GPUs are in no known place.
  const auto built = build_from({"\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n"});
  const auto pair = link_class(built.topology, built.topology.find("GPU0").value(),
                               built.topology.find("GPU1").value(), Medium::pcie);
  EXPECT_FALSE(pair.decided());
  EXPECT_EQ(pair.at_least, LinkClass::pix);
  EXPECT_EQ(pair.at_most, LinkClass::sys);
  EXPECT_FALSE(built.findings.empty());
}

TEST(Build, KnownPairsImplyOthers) {
  // NVLink hides GPU0 to GPU1; both are PIX to NIC0, so they share its switch.
  const auto built = build_from(
      {"\tGPU0\tGPU1\tNIC0\nGPU0\t X \tNV4\tPIX\nGPU1\tNV4\t X \tPIX\nNIC0\tPIX\tPIX\t X \n"});
  const auto pair = link_class(built.topology, built.topology.find("GPU0").value(),
                               built.topology.find("GPU1").value(), Medium::pcie);
  EXPECT_TRUE(pair.decided());
  EXPECT_EQ(pair.value, LinkClass::pix);
}

/// As nvidia-smi topo -p2p prints it.
std::string peers(const std::string& status) {
  return " \tGPU0\tGPU1\t\n GPU0\tX\t" + status + "\t\n GPU1\t" + status +
         "\tX\t\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n  GNS  = GPU not supported\n";
}

TEST(Build, PeerMatricesThatContradictEachOtherAreRefused) {
  const std::string matrix = "\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n";
  const auto build = [&](const std::vector<std::string>& texts) {
    std::vector<Reading> all;
    for (const auto& text : texts)
      for (auto& reading : read_text(text, "pasted")) all.push_back(std::move(reading));
    return build_topology(all).topology.peer_access;
  };
  EXPECT_EQ(build({matrix, peers("OK"), peers("OK")}).size(), 2U);
  try {
    (void)build({matrix, peers("OK"), peers("GNS")});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(std::string(error.what()).find("from GPU0 to GPU1 is OK in one and GNS in another"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace ringside::tests
