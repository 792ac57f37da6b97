// SPDX-License-Identifier: MIT
/// What the figures of a machine rest on that no input tells is said, and what is told is not.
#include "ringside/topology/model/assumptions.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "ringside/topology/load.hpp"
#include "ringside/topology/model/link_rates.hpp"
#include "ringside/topology/model/what_if.hpp"
#include "ringside/topology/presets/presets.hpp"

namespace ringside::tests {
namespace {

constexpr const char* two_sockets =
    "        GPU0    GPU1    GPU2    GPU3    CPU Affinity    NUMA Affinity\n"
    "GPU0     X      PHB     SYS     SYS     0-15            0\n"
    "GPU1    PHB      X      SYS     SYS     0-15            0\n"
    "GPU2    SYS     SYS      X      PHB     16-31           1\n"
    "GPU3    SYS     SYS     PHB      X      16-31           1\n";
constexpr const char* nv18 =
    "        GPU0    GPU1    GPU2    GPU3\n"
    "GPU0     X      NV18    NV18    NV18\n"
    "GPU1    NV18     X      NV18    NV18\n"
    "GPU2    NV18    NV18     X      NV18\n"
    "GPU3    NV18    NV18    NV18     X\n";
constexpr const char* buses = R"(<system version="1">
  <cpu numaid="0" affinity="0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="0001:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
    <pci busid="0002:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
  </cpu>
</system>
)";

MachineDescription pasted(const char* text) {
  Topology topology = load_readings(read_text(text, "pasted")).built.value().topology;
  LinkModel model = *link_model_for(topology).model;
  return {.topology = std::move(topology), .model = std::move(model), .settings = {}};
}

std::string told(const MachineDescription& machine) {
  return assumptions_text(assumptions_of(machine.topology, machine.model));
}

void expect_has(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}
void expect_lacks(const std::string& text, std::string_view part) {
  EXPECT_EQ(text.find(part), std::string::npos) << text;
}

TEST(Assumptions, OfAPastedMatrixAreSaidWithHowToTell) {
  const auto machine = pasted(two_sockets);
  const auto text = told(machine);
  expect_has(text, "PCIe 4.0 x16 (4 links)");
  expect_has(text, "socket 20 GB/s (1 link)");
  expect_has(text, "GPU memory 900 GB/s");
  expect_has(text, "--what-if pcie=genN");
  expect_has(text, "--set socket.bandwidth=N");
  const auto all = assumptions_of(machine.topology, machine.model);
  const LinkId slot = *machine.topology.link_up(machine.topology.gpus().front());
  for (const LinkId id : {slot, Topology::reverse(slot)})
    EXPECT_TRUE(any_is_assumed(all, std::vector<LinkId>{id}));
  EXPECT_FALSE(any_is_assumed(all, std::vector<LinkId>{}));
}

TEST(Assumptions, AreWhatTheFiguresAre) {
  const auto machine = pasted(two_sockets);
  for (LinkId id = 0; id < static_cast<LinkId>(machine.topology.links().size()); ++id) {
    const LinkRate rate = link_rate(machine.topology, machine.model, id);
    const LinkKind kind = machine.topology.link(id).kind;
    EXPECT_EQ(rate.engine, kind == LinkKind::pcie ? 1e9 * machine.model.value("pcie4.x16.bandwidth")
                           : kind == LinkKind::socket ? 20e9
                                                      : rate.engine);
  }
}

TEST(Assumptions, WhatIsToldIsNone) {
  auto machine = pasted(two_sockets);
  machine = with_what_if(std::move(machine), "pcie=gen3");
  expect_has(told(machine), "PCIe 3.0 x16 (4 links)");  // the lanes are not told
  for (const char* word : {"slot:GPU0=x16", "slot:GPU1=x16", "slot:GPU2=x16", "slot:GPU3=x8"})
    machine = with_what_if(std::move(machine), word);
  expect_lacks(told(machine), "PCIe");
  machine = with_figure(std::move(machine), "socket.bandwidth=35");
  expect_lacks(told(machine), "socket");
  machine = with_figure(std::move(machine), "memory.default=1008");
  EXPECT_EQ(told(machine), "");
}

TEST(Assumptions, OfNamedMachinesAreFew) {
  const auto of = [](const char* preset) {
    const Topology topology = *make_preset(preset);
    return assumptions_of(topology, *link_model_for(topology).model);
  };
  for (const char* preset : {"dgx-a100", "dgx-h100", "8gpu-two-sockets", "4gpu-nvlink-pairs"})
    EXPECT_EQ(assumptions_text(of(preset)), "") << preset;
  expect_has(assumptions_text(of("g5.12xlarge")), "PCIe 4.0 x16 (4 links)");  // lanes are hidden
  expect_lacks(assumptions_text(of("dgx1v")), "PCIe");
}

TEST(Assumptions, EighteenNvlinksMayBeOfTwoGenerations) {
  auto machine = pasted(nv18);
  EXPECT_EQ(machine.model.name, "nvswitch-hopper");
  expect_has(told(machine), "NVLink 4 (by their number: Hopper's; Blackwell's are as many");
  expect_has(told(machine), "GPU memory 3350 GB/s");
  expect_lacks(told(machine), "PCIe");  // nothing between GPUs takes it
  machine = with_what_if(std::move(machine), "nvlink=gen5");
  EXPECT_EQ(machine.model.name, "nvswitch-blackwell") << "the class goes with the generation";
  EXPECT_EQ(told(machine),
            "assumed, not told: GPU memory 8000 GB/s; tell with --set "
            "memory.default=N");
}

TEST(Assumptions, AFileOfBusesHasNoNvlinks) {
  expect_has(told(pasted(buses)), "no NVLink (the file lists none; NCCL asks the driver for it)");
  std::string with_gpus = buses;
  for (auto at = with_gpus.find("\"16\"/>"); at != std::string::npos;
       at = with_gpus.find("\"16\"/>", at))
    with_gpus.replace(at, 6, "\"16\"><gpu dev=\"0\" sm=\"80\" rank=\"0\" gdr=\"1\"/></pci>");
  expect_lacks(told(pasted(with_gpus.c_str())), "NVLink");
}

}  // namespace
}  // namespace ringside::tests
