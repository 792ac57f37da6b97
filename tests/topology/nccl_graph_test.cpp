// SPDX-License-Identifier: MIT
/// The ring that is written for NCCL_GRAPH_FILE.
#include "ringside/topology/writers/nccl_graph.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/topology/presets/presets.hpp"

namespace ringside::tests {
namespace {

const std::vector<int> alternating = {0, 2, 1, 3};

TEST(NcclRingGraph, HasEveryGpuOnceAChannelInTheOrderOfTheRing) {
  const auto topology = make_preset("4gpu-pcie4-two-switches").value();
  const std::string channel =
      "    <channel>\n      <gpu dev=\"0x0\"/>\n      <gpu dev=\"0x2\"/>\n"
      "      <gpu dev=\"0x1\"/>\n      <gpu dev=\"0x3\"/>\n    </channel>\n";
  EXPECT_EQ(nccl_ring_graph(topology, alternating, 24),
            "<graphs version=\"1\">\n"
            "  <graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"2\" speedintra=\"12\" "
            "speedinter=\"12\" typeintra=\"PHB\" typeinter=\"PIX\" samechannels=\"1\">\n" +
                channel + channel + "  </graph>\n</graphs>\n");
}

TEST(NcclRingGraph, NumbersAreHexadecimal) {
  const auto topology = make_preset("p2.16xlarge").value();
  std::vector<int> order;
  for (int gpu = 15; gpu >= 0; --gpu) order.push_back(gpu);
  EXPECT_NE(nccl_ring_graph(topology, order, 10).find("<gpu dev=\"0xf\"/>"), std::string::npos);
}

TEST(NcclRingGraph, RefusesOrdersThatWouldOverrunMemory) {
  const auto topology = make_preset("4gpu-pcie4-two-switches").value();
  for (const auto& order : {std::vector<int>{0, 1, 2}, {0, 1, 2, 2}, {0, 1, 2, 3, 3}, {0, 1, 2, 4}})
    EXPECT_THROW((void)nccl_ring_graph(topology, order, 24), Error);
}

}  // namespace
}  // namespace ringside::tests
