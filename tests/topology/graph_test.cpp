// SPDX-License-Identifier: MIT
/// Topologies as values: what they refuse, ways through them, classes, shared links.
#include "ringside/topology/graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/topology/path.hpp"
#include "ringside/topology/presets/presets.hpp"

namespace ringside::tests {
namespace {

Node named(NodeKind kind, const std::string& name) {
  Node node;
  node.kind = kind;
  node.name = name;
  return node;
}

Link between(NodeId from, NodeId to, LinkKind kind = LinkKind::pcie) {
  Link link;
  link.from = from;
  link.to = to;
  link.kind = kind;
  return link;
}

NodeId id_of(const Topology& topology, const std::string& name) {
  return topology.find(name).value();
}

std::string class_of(const Topology& topology, const std::string& from, const std::string& to,
                     Medium medium = Medium::any) {
  return to_string(link_class(topology, id_of(topology, from), id_of(topology, to), medium));
}

TEST(PciAddresses, AreReadInEveryUsualForm) {
  EXPECT_EQ(parse_pci_address("00000000:1B:00.0"), (PciAddress{0, 0x1b, 0, 0}));
  EXPECT_EQ(parse_pci_address("1b:1f.7"), (PciAddress{0, 0x1b, 0x1f, 7}));
  EXPECT_EQ(to_string(PciAddress{0x10000, 1, 2, 3}), "10000:01:02.3");
  for (const char* text :
       {"", "1b", "1b:00", "g0:00.0", "1b:00.0.0", "0:1b:00.10", "fffffff:ffff:ff"})
    EXPECT_FALSE(parse_pci_address(text).has_value()) << text;
}

TEST(Topologies, RefuseWhatIsNoMachine) {
  Topology topology;
  const NodeId numa = topology.add(named(NodeKind::numa_node, "numa0"));
  const NodeId chip = topology.add(named(NodeKind::pcie_switch, "switch0"));
  const NodeId gpu = topology.add(named(NodeKind::gpu, "GPU0"));
  topology.connect(between(chip, numa));
  topology.connect(between(gpu, chip));
  EXPECT_THROW(topology.add(named(NodeKind::gpu, "GPU0")), Error) << "a name twice";
  EXPECT_THROW(topology.connect(between(gpu, numa)), Error) << "two parents";
  EXPECT_THROW(topology.connect(between(numa, gpu)), Error) << "a ring of parents";
  EXPECT_THROW(topology.connect(between(gpu, gpu, LinkKind::nvlink)), Error);
  EXPECT_THROW(topology.connect(between(gpu, 7)), Error);
  EXPECT_EQ(topology.root(gpu), numa);
}

TEST(Links, AreTwoDirectionsThatFindEachOther) {
  const auto topology = make_preset("dgx1v").value();
  for (LinkId id = 0; id < static_cast<LinkId>(topology.links().size()); ++id) {
    const Link& link = topology.link(id);
    const Link& back = topology.link(Topology::reverse(id));
    EXPECT_EQ(link.from, back.to);
    EXPECT_EQ(link.to, back.from);
    EXPECT_NE(std::ranges::find(topology.links_from(link.from), id),
              topology.links_from(link.from).end());
  }
}

TEST(Classes, FollowFromWhatARoutePasses) {
  const auto topology = make_preset("dgx1v").value();
  EXPECT_EQ(class_of(topology, "GPU0", "GPU0"), "X");
  EXPECT_EQ(class_of(topology, "GPU0", "GPU3"), "NV2");
  EXPECT_EQ(class_of(topology, "GPU0", "GPU5"), "SYS");
  EXPECT_EQ(class_of(topology, "GPU0", "GPU1", Medium::pcie), "PIX");
  EXPECT_EQ(class_of(topology, "GPU0", "GPU2", Medium::pcie), "PHB");
  EXPECT_EQ(class_of(topology, "GPU0", "NIC0"), "PIX");
  const auto other = make_preset("dgx-a100").value();
  EXPECT_EQ(class_of(other, "GPU0", "GPU7"), "NV12") << "over the NVSwitch";
  EXPECT_EQ(class_of(other, "GPU0", "GPU1", Medium::pcie), "PXB");
  EXPECT_EQ(class_of(make_preset("dgx-h100").value(), "GPU0", "GPU1", Medium::pcie), "NODE");
}

TEST(Classes, ReachOtherBoxesOverTheNetwork) {
  const auto topology = make_preset("fat-tree:boxes=2").value();
  EXPECT_EQ(class_of(topology, "GPU0", "box1/GPU0"), "NET");
  EXPECT_EQ(class_of(topology, "GPU0", "GPU1"), "NV12");
  const auto way = route(topology, id_of(topology, "GPU2"), id_of(topology, "box1/GPU2")).value();
  const auto passes_nic = std::ranges::count_if(way, [&](LinkId each) {
    return topology.node(topology.link(each).to).kind == NodeKind::nic;
  });
  EXPECT_EQ(passes_nic, 2) << "one NIC on each side";
  for (const LinkId each : way)
    EXPECT_NE(topology.link(each).kind, LinkKind::socket) << "a NIC near the GPU is taken";
}

TEST(Classes, AreOneFabricInARack) {
  const auto topology = make_preset("nvl72").value();
  EXPECT_EQ(topology.gpus().size(), 72U);
  EXPECT_EQ(class_of(topology, "GPU0", "box17/GPU3"), "NV18");
}

TEST(Routes, ConnectTheirEndsAndPassNoOtherGpu) {
  for (const char* name :
       {"4gpu-nvlink-pairs", "8gpu-two-sockets", "dgx1v", "p4d", "fat-tree:boxes=3"}) {
    const auto topology = make_preset(name).value();
    for (const NodeId from : topology.gpus())
      for (const NodeId to : topology.gpus()) {
        const auto way = route(topology, from, to).value();
        NodeId at = from;
        for (const LinkId each : way) {
          ASSERT_EQ(topology.link(each).from, at);
          at = topology.link(each).to;
          EXPECT_TRUE(at == to || topology.node(at).kind != NodeKind::gpu);
        }
        EXPECT_EQ(at, to);
      }
  }
}

TEST(ContendedLinks, AreThoseThatPairsShareInOneDirection) {
  const auto topology = make_preset("4gpu-pcie4-two-switches").value();
  const auto uses = contended_links(topology, topology.gpus());
  ASSERT_EQ(uses.size(), 4U) << "up from either switch, and down to it";
  for (const auto& use : uses) EXPECT_EQ(use.pairs.size(), 4U);
}

TEST(WithoutAWay, APairIsUnreachable) {
  Topology topology;
  const NodeId a = topology.add(named(NodeKind::gpu, "GPU0"));
  const NodeId b = topology.add(named(NodeKind::gpu, "GPU1"));
  EXPECT_FALSE(route(topology, a, b).has_value());
  EXPECT_EQ(link_class(topology, a, b).value, LinkClass::unreachable);
}

}  // namespace
}  // namespace ringside::tests
