// SPDX-License-Identifier: MIT
/// Machines known by name: they are what their sources print, and every writer takes them.
#include "ringside/topology/presets/presets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/topology/build/build_topology.hpp"
#include "ringside/topology/path.hpp"
#include "ringside/topology/readers/own_json.hpp"
#include "ringside/topology/writers/dot.hpp"
#include "ringside/topology/writers/json.hpp"
#include "ringside/topology/writers/matrix.hpp"
#include "ringside/topology/writers/nccl_xml.hpp"
#include "ringside/topology/writers/tree.hpp"

namespace ringside::tests {
namespace {

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& preset : presets()) {
    std::string name(preset.name);
    if (name.ends_with("=N")) name.back() = '3';
    all.push_back(name);
  }
  return all;
}

std::vector<Reading> corpus_file(const std::string& name) {
  return read_text(read_file(std::string(RINGSIDE_TEST_DATA) + "/corpus/topo/" + name + ".txt"),
                   name);
}

/// Every pair of GPUs has the class that the matrix prints.
void expect_matrix(const std::string& preset, const std::string& file) {
  SCOPED_TRACE(preset);
  const auto topology = make_preset(preset).value();
  const auto readings = corpus_file(file);
  const auto& matrix = std::get<LinkMatrix>(readings.front().facts);
  ASSERT_EQ(topology.gpus().size(), matrix.gpus);
  for (std::size_t i = 0; i < matrix.gpus; ++i)
    for (std::size_t j = 0; j < matrix.gpus; ++j) {
      if (!matrix.cell(i, j)) continue;
      const auto pair = link_class(topology, topology.gpus().at(i), topology.gpus().at(j));
      EXPECT_EQ(pair.value, matrix.cell(i, j)->value) << i << " to " << j;
      if (pair.value == LinkClass::nvlink) {
        EXPECT_EQ(pair.count, matrix.cell(i, j)->count) << i << " to " << j;
      }
    }
}

TEST(Presets, AreWhatTheirSourcesPrint) {
  expect_matrix("dgx1v", "064-dgx1v-4mlx5-nic-order-0213");
  expect_matrix("dgx-a100", "067-dgxa100-12nic-cut");
  expect_matrix("p3.8xlarge", "071-p3-8xlarge-numa-na");
  expect_matrix("p3.16xlarge", "060-8xv100-vm-phb-numa-range");
  expect_matrix("p4d", "072-p4d-24xlarge-8xa100");
  expect_matrix("8gpu-two-switches", "052-8xrtxpro6000-2switch-pix-phb");
  expect_matrix("8gpu-two-sockets", "054-8xrtxpro6000-phb-sys");
}

TEST(Presets, HaveThePcieOfTheFileThatNcclIsGiven) {
  const auto preset = make_preset("p4d").value();
  const auto file = build_topology(corpus_file("086-xml-aws-p4d-24xl")).topology;
  const auto gpus = preset.gpus(), others = file.gpus();
  ASSERT_EQ(gpus.size(), others.size());
  for (std::size_t i = 0; i < gpus.size(); ++i)
    for (std::size_t j = 0; j < gpus.size(); ++j) {
      const auto pair = link_class(preset, gpus[i], gpus[j], Medium::pcie);
      const auto stated = link_class(file, others[i], others[j], Medium::pcie);
      EXPECT_TRUE(pair.value >= stated.at_least && pair.value <= stated.at_most) << i << " " << j;
    }
}

TEST(Presets, AreKnownByTheirNamesOnly) {
  EXPECT_EQ(presets().size(), 19U);
  for (const auto& name : names()) EXPECT_EQ(make_preset(name).value().name, name);
  EXPECT_FALSE(make_preset("dgx").has_value());
  EXPECT_THROW((void)make_preset("fat-tree:boxes=0"), Error);
  EXPECT_THROW((void)make_preset("fat-tree:boxes=x"), Error);
}

TEST(Presets, EveryGpuReachesEveryOther) {
  for (const auto& name : names()) {
    SCOPED_TRACE(name);
    const auto topology = make_preset(name).value();
    const auto gpus = topology.gpus();
    EXPECT_GE(gpus.size(), 4U);
    for (const NodeId to : gpus) EXPECT_TRUE(route(topology, gpus.front(), to).has_value());
  }
}

TEST(Presets, ComeBackFromOurJson) {
  for (const auto& name : names()) {
    SCOPED_TRACE(name);
    const auto topology = make_preset(name).value();
    EXPECT_EQ(parse_topology_json(topology_json(topology)), topology);
  }
}

/// The XML of one box keeps what NCCL knows of: reading it and writing it again changes nothing.
TEST(Presets, OfOneBoxComeBackFromNcclsXml) {
  int written = 0;
  for (const auto& name : names()) {
    SCOPED_TRACE(name);
    const auto topology = make_preset(name).value();
    if (std::ranges::any_of(topology.nodes(), [](const Node& node) { return node.box > 0; })) {
      EXPECT_THROW((void)nccl_xml(topology), Error);
      continue;
    }
    ++written;
    const auto xml = nccl_xml(topology);
    const auto again = build_topology(read_text(xml, "written")).topology;
    EXPECT_EQ(nccl_xml(again), xml);
    const auto gpus = topology.gpus(), others = again.gpus();
    ASSERT_EQ(gpus.size(), others.size());
    for (std::size_t i = 0; i < gpus.size(); ++i)
      for (std::size_t j = 0; j < gpus.size(); ++j) {
        const auto pair = link_class(topology, gpus[i], gpus[j]);
        const auto read = link_class(again, others[i], others[j]);
        EXPECT_EQ(pair.count, read.count);
        EXPECT_TRUE(pair.value >= read.at_least && pair.value <= read.at_most) << i << " " << j;
      }
  }
  EXPECT_EQ(written, 17);
}

TEST(Presets, AreDrawnByEveryWriter) {
  for (const auto& name : names()) {
    SCOPED_TRACE(name);
    const auto topology = make_preset(name).value();
    EXPECT_NE(tree_text(topology).find("GPU3"), std::string::npos);
    EXPECT_NE(matrix_text(topology).find("GPU3"), std::string::npos);
    const auto dot = topology_dot(topology);
    EXPECT_TRUE(dot.starts_with("graph topology {"));
    EXPECT_EQ(std::ranges::count(dot, '{'), std::ranges::count(dot, '}'));
  }
}

}  // namespace
}  // namespace ringside::tests
