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

}  // namespace
}  // namespace ringside::tests
