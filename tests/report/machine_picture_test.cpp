// SPDX-License-Identifier: MIT
/// Machines as SVG.
#include "ringside/tools/report/machine_picture.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <pugixml.hpp>
#include <string>

#include "ringside/tools/report/machine_layout.hpp"
#include "ringside/topology/presets/presets.hpp"

namespace ringside::tests {
namespace {

using report::LinkLoad;
using report::MachineLayout;
using report::MachineView;

Node node_of(NodeKind kind, const std::string& name, int number) {
  Node node;
  node.kind = kind;
  node.name = name;
  node.number = number;
  return node;
}

TEST(MachinePicture, BoxesOfNoPresetOverlapOrLeaveThePicture) {
  for (const auto& preset : presets()) {
    const auto made = make_preset(preset.name.substr(0, preset.name.find(':')));
    if (!made) continue;
    const Topology& topology = *made;
    const auto layout = MachineLayout::of(topology);
    if (!layout) continue;
    const auto& nodes = layout->nodes();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      EXPECT_GE(nodes[i].centre.x - nodes[i].width / 2, 0) << preset.name;
      EXPECT_LE(nodes[i].centre.x + nodes[i].width / 2, layout->width()) << preset.name;
      EXPECT_LE(nodes[i].centre.y + nodes[i].height / 2, layout->height()) << preset.name;
      for (std::size_t k = 0; k < i; ++k) {
        const bool apart = std::abs(nodes[i].centre.x - nodes[k].centre.x) >=
                               (nodes[i].width + nodes[k].width) / 2 ||
                           std::abs(nodes[i].centre.y - nodes[k].centre.y) >=
                               (nodes[i].height + nodes[k].height) / 2;
        EXPECT_TRUE(apart) << preset.name << ": " << topology.node(nodes[i].id).name << " and "
                           << topology.node(nodes[k].id).name;
      }
    }
  }
}

TEST(MachinePicture, EveryDirectionOfALinkIsThereWithItsLoad) {
  Topology topology;
  const NodeId numa = topology.add(node_of(NodeKind::numa_node, "numa<0>", 0));
  const NodeId gpu = topology.add(node_of(NodeKind::gpu, "GPU0", 0));
  Link link;
  link.from = gpu;
  link.to = numa;
  (void)topology.connect(link);
  MachineView view{.source = 0, .name = "a & b", .call = "", .topology = topology};
  view.loads.push_back({.algorithm = "ring",
                        .bytes = 8,
                        .seconds = 1,
                        .links = {{.link = "GPU0 -> numa<0>", .bytes = 9e9, .capacity = 10e9}}});
  const auto svg = report::machine_svg(view, 3);
  ASSERT_TRUE(svg);
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(svg->c_str()));
  const auto links = document.select_nodes("//path[@data-link]");
  ASSERT_EQ(links.size(), 2U);
  EXPECT_TRUE(document.select_node("//path[@data-link='GPU0 -> numa<0>'][@class='link load-5']"));
  EXPECT_TRUE(document.select_node("//path[@data-link='numa<0> -> GPU0'][@class='link load-0']"));
}

TEST(MachinePicture, LoadsAreToldInSteps) {
  const LinkLoad load{.link = "a -> b", .bytes = 3e9, .capacity = 10e9};
  EXPECT_DOUBLE_EQ(report::share_of(load, 1), 0.3);
  EXPECT_EQ(report::load_words(load, 1), "a -> b: 2.8 GiB, 30 % of 10 GB/s");
  EXPECT_EQ(report::load_step(0), 0);
  EXPECT_EQ(report::load_step(0.01), 1);
  EXPECT_EQ(report::load_step(0.3), 2);
  EXPECT_EQ(report::load_step(1), report::load_steps - 1);
}

TEST(MachinePicture, TooManyDevicesAreNoPicture) {
  Topology topology;
  for (int i = 0; i <= report::most_devices_drawn; ++i)
    (void)topology.add(node_of(NodeKind::gpu, "GPU" + std::to_string(i), i));
  EXPECT_FALSE(MachineLayout::of(topology));
  EXPECT_FALSE(MachineLayout::of({}));
}

}  // namespace
}  // namespace ringside::tests
