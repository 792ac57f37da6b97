// SPDX-License-Identifier: MIT
/// A machine from the kernel's files, from hwloc, from the driver's library: on a tree of files
/// that is modelled on a server with two sockets and a PCIe switch.
#include "ringside/topology/live/live.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "ringside/topology/live/cuda_runtime.hpp"
#include "ringside/topology/live/hwloc.hpp"
#include "ringside/topology/path.hpp"
#include "ringside/topology/writers/nccl_xml.hpp"

namespace ringside::tests {
namespace {

namespace fs = std::filesystem;

/// A folder that goes with the test.
class Machine {
 public:
  Machine() : root_(fs::path(testing::TempDir()) / ("sysfs_" + std::to_string(::getpid()))) {
    fs::remove_all(root_);
    // Socket 0: root port, a switch with two GPUs and a NIC. Socket 1: a GPU in an x4 slot.
    const std::string up = "pci0000:00/0000:00:01.0/0000:01:00.0";
    function("pci0000:00/0000:00:01.0", "0x060400", "0x8086", 0, "16.0 GT/s PCIe", 16);
    function(up, "0x060400", "0x1000", 0, "16.0 GT/s PCIe", 16);
    for (const auto& [port, device] : std::vector<std::pair<std::string, std::string>>{
             {"02:00.0", "03:00.0"}, {"02:01.0", "04:00.0"}, {"02:02.0", "05:00.0"}}) {
      const std::string below = up + "/0000:" + port;
      function(below, "0x060400", "0x1000", 0, "16.0 GT/s PCIe", 16);
      config(below, port == "02:00.0");
      const bool nic = device == "05:00.0";
      function(below + "/0000:" + device, nic ? "0x020700" : "0x030000", nic ? "0x15b3" : "0x10de",
               0, "16.0 GT/s PCIe", 16);
    }
    write(up + "/0000:02:02.0/0000:05:00.0/net/ib0/speed", "200000\n");
    write(up + "/0000:02:02.0/0000:05:00.0/infiniband/mlx5_0/node_type", "1\n");
    function("pci0000:80/0000:80:01.0", "0x060400", "0x8086", 1, "16.0 GT/s PCIe", 16);
    function("pci0000:80/0000:80:01.0/0000:81:00.0", "0x030200", "0x10de", 1, "16.0 GT/s PCIe", 4);
    // What is no GPU or NIC: a disk, a management chip's display.
    function("pci0000:00/0000:00:02.0", "0x010802", "0x144d", 0, "8.0 GT/s PCIe", 4);
    function("pci0000:00/0000:00:03.0", "0x030000", "0x1a03", 0, "2.5 GT/s PCIe", 1);
    write("system/node/node0/cpulist", "0-15\n");
    write("system/node/node1/cpulist", "16-31\n");
  }
  ~Machine() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  [[nodiscard]] std::string root() const { return root_.string(); }

 private:
  void write(const std::string& file, const std::string& text) const {
    const fs::path path = root_ / "sys/devices" / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }

  void function(const std::string& folder, const std::string& pci_class, const std::string& vendor,
                int numa, const std::string& speed, int width) const {
    write(folder + "/class", pci_class + "\n");
    write(folder + "/vendor", vendor + "\n");
    write(folder + "/device", "0x1234\n");
    write(folder + "/numa_node", std::to_string(numa) + "\n");
    write(folder + "/max_link_speed", speed + "\n");
    write(folder + "/max_link_width", "16\n");
    write(folder + "/current_link_speed", "2.5 GT/s PCIe\n");
    write(folder + "/current_link_width", std::to_string(width) + "\n");
  }

  /// A configuration space with an empty capability and then access control services.
  void config(const std::string& folder, bool redirect) const {
    std::string space(4096, '\0');
    const auto put = [&](std::size_t at, unsigned value) {
      for (int i = 0; i < 4; ++i) space[at + i] = static_cast<char>(value >> (8 * i) & 0xff);
    };
    put(0x100, 0x14810001);  // advanced error reporting, next at 0x148
    put(0x148, 0x0001000d);  // access control services, the last
    put(0x14c, (redirect ? 0x001dU : 0x0001U) << 16 | 0x5f);  // control above capabilities
    write(folder + "/config", space);
  }

  fs::path root_;
};

BuiltTopology read(const Machine& machine,
                   const std::string& nvml = "there-is-no-such-library.so") {
  return read_live({.root = machine.root(), .nvml = nvml, .hwloc = "", .cuda = {}});
}

std::string class_of(const Topology& topology, const char* from, const char* to,
                     Medium medium = Medium::any) {
  return to_string(
      link_class(topology, topology.find(from).value(), topology.find(to).value(), medium));
}

TEST(Live, ReadsTheTreeOfTheKernel) {
  const Machine machine;
  const auto topology = read(machine).topology;
  EXPECT_EQ(topology.gpus().size(), 3U);
  EXPECT_EQ(topology.of_kind(NodeKind::pcie_switch).size(), 1U);
  EXPECT_EQ(topology.of_kind(NodeKind::numa_node).size(), 2U);
  EXPECT_EQ(class_of(topology, "GPU0", "GPU1"), "PIX");
  EXPECT_EQ(class_of(topology, "GPU0", "mlx5_0"), "PIX");
  EXPECT_EQ(class_of(topology, "GPU0", "GPU2"), "SYS");
  EXPECT_EQ(topology.node(topology.find("mlx5_0").value()).details.at("net0.speed"), "200000");
  EXPECT_EQ(topology.node(topology.find("numa1").value()).details.at("cpu_affinity"), "16-31");
}

TEST(Live, AnIdleLinkIsNoSlowLinkButANarrowSlotIs) {
  const Machine machine;
  const auto topology = read(machine).topology;
  const Link& link = topology.link(topology.link_up(topology.find("GPU2").value()).value());
  EXPECT_EQ(link.generation, 4);
  EXPECT_EQ(link.width, 4);
  EXPECT_EQ(link.most_width, 16);
}

TEST(Live, SeesPortsThatRedirect) {
  const Machine machine;
  const auto topology = read(machine).topology;
  EXPECT_EQ(topology.node(topology.find("switch0").value()).details.at("acs_redirect"), "on");
}

TEST(Live, SaysWhatItLacksWithoutADriver) {
  const Machine machine;
  const auto built = read(machine);
  EXPECT_TRUE(std::ranges::any_of(built.findings, [](const Finding& finding) {
    return finding.text.find("no NVIDIA driver") != std::string::npos;
  }));
}

TEST(Live, AsksTheDriverForNamesAndNvlinks) {
  const Machine machine;
  const auto topology = read(machine, RINGSIDE_FAKE_NVML).topology;
  EXPECT_EQ(topology.node(topology.find("GPU0").value()).model, "NVIDIA RTX A6000");
  EXPECT_EQ(class_of(topology, "GPU0", "GPU1"), "NV4");
  EXPECT_EQ(class_of(topology, "GPU0", "GPU1", Medium::pcie), "PIX");
}

TEST(Live, AnEmptyMachineIsNoError) {
  const auto built = read_live({.root = "/nonexistent",
                                .nvml = "there-is-no-such-library.so",
                                .hwloc = "nor-this-one.so",
                                .cuda = {"nor-this.so", "nor-that.so"}});
  EXPECT_TRUE(built.topology.gpus().empty());
  for (const char* lacking : {"no PCI devices", "no NVIDIA driver", "no hwloc", "no CUDA runtime"})
    EXPECT_TRUE(std::ranges::any_of(built.findings, [&](const Finding& finding) {
      return finding.text.find(lacking) != std::string::npos;
    })) << lacking;
}

TEST(Live, ThisMachineIsRead) {
  const auto built = read_live();
  for (const NodeId gpu : built.topology.gpus())
    EXPECT_TRUE(built.topology.link_up(gpu).has_value());
}

TEST(Live, WhatItReadsNcclCanBeGiven) {
  const Machine machine;
  const auto topology = read(machine, RINGSIDE_FAKE_NVML).topology;
  const auto again = build_topology(read_text(nccl_xml(topology), "written")).topology;
  EXPECT_EQ(class_of(again, "GPU0", "GPU1"), "NV4");
  EXPECT_EQ(class_of(again, "GPU0", "GPU2"), "SYS");
}

const char* const hwloc_xml = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0">
    <object type="Package" os_index="0">
      <object type="NUMANode" os_index="0" cpuset="0x0000ffff"/>
      <object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="0000:[00-05]">
        <object type="Bridge" bridge_type="1-1" depth="1" bridge_pci="0000:[01-05]" pci_busid="0000:00:01.0" pci_type="0604 [8086:347a] [8086:0000] 04" pci_link_speed="31.507692">
          <object type="Bridge" bridge_type="1-1" depth="2" bridge_pci="0000:[02-05]" pci_busid="0000:01:00.0" pci_type="0604 [1000:c010] [1000:a096] b0" pci_link_speed="31.507692">
            <object type="Bridge" bridge_type="1-1" depth="3" bridge_pci="0000:[03-03]" pci_busid="0000:02:00.0" pci_type="0604 [1000:c010] [1000:a096] b0" pci_link_speed="31.507692">
              <object type="PCIDev" pci_busid="0000:03:00.0" pci_type="0302 [10de:20b5] [10de:1533] a1" pci_link_speed="31.507692"/>
            </object>
            <object type="Bridge" bridge_type="1-1" depth="3" bridge_pci="0000:[04-04]" pci_busid="0000:02:01.0" pci_type="0604 [1000:c010] [1000:a096] b0" pci_link_speed="31.507692">
              <object type="PCIDev" pci_busid="0000:04:00.0" pci_type="0207 [15b3:101b] [15b3:0007] 00" pci_link_speed="31.507692">
                <object type="OSDev" name="ib0" osdev_type="2"/>
                <object type="OSDev" name="mlx5_0" osdev_type="3"/>
              </object>
            </object>
          </object>
        </object>
      </object>
    </object>
    <object type="Package" os_index="1">
      <object type="NUMANode" os_index="1" cpuset="0xffff0000"/>
      <object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="0000:[80-81]">
        <object type="Bridge" bridge_type="1-1" depth="1" bridge_pci="0000:[81-81]" pci_busid="0000:80:01.0" pci_type="0604 [8086:347a] [8086:0000] 04" pci_link_speed="31.507692">
          <object type="PCIDev" pci_busid="0000:81:00.0" pci_type="0302 [10de:20b5] [10de:1533] a1" pci_link_speed="31.507692"/>
        </object>
      </object>
    </object>
  </object>
</topology>
)";

TEST(Hwloc, ReadsTheTree) {
  const auto readings = read_text(hwloc_xml, "text");
  ASSERT_EQ(readings.size(), 1U);
  EXPECT_EQ(readings[0].reader, "hwloc XML");
  const auto topology = build_topology(readings).topology;
  EXPECT_EQ(topology.gpus().size(), 2U);
  EXPECT_EQ(class_of(topology, "GPU0", "mlx5_0"), "PIX");
  EXPECT_EQ(class_of(topology, "GPU0", "GPU1"), "SYS");
  EXPECT_EQ(topology.node(topology.find("numa1").value()).details.at("cpu_affinity"), "16-31");
  const Link& link = topology.link(topology.link_up(topology.find("GPU0").value()).value());
  EXPECT_FALSE(link.width.has_value()) << "31.5 GB/s are 16 lanes of PCIe 4.0 or 8 of 5.0";
}

TEST(Hwloc, TellsGenerationAndWidthWhereOnlyOneFits) {
  std::string text = hwloc_xml;
  for (auto at = text.find("31.507692"); at != std::string::npos; at = text.find("31.507692"))
    text.replace(at, 9, "3.938462");
  const auto topology = build_topology(read_text(text, "text")).topology;
  const Link& link = topology.link(topology.link_up(topology.find("GPU0").value()).value());
  EXPECT_FALSE(link.generation.has_value()) << "x4 of 3.0, x2 of 4.0, x1 of 5.0";
  const auto slow = [&] {
    std::string changed = hwloc_xml;
    changed.replace(changed.find("a1\" pci_link_speed=\"31.507692") + 20, 9, "0.250000");
    return build_topology(read_text(changed, "text")).topology;
  }();
  EXPECT_EQ(slow.link(slow.link_up(slow.find("GPU0").value()).value()).width, 1);
}

TEST(Hwloc, KeepsWhatALinkSpeedImplies) {
  const auto topology = build_topology(read_text(hwloc_xml, "text")).topology;
  const LinkId link = topology.link_up(topology.find("GPU0").value()).value();
  EXPECT_NEAR(topology.link(link).bandwidth.value(), 31.507692, 1e-9);
  EXPECT_NEAR(topology.link(Topology::reverse(link)).bandwidth.value(), 31.507692, 1e-9);
}

/// Where the library is not installed there is nothing to ask.
std::optional<PciMachine> asked_of_hwloc(const std::string& xml) {
  const auto file = fs::path(testing::TempDir()) / ("hwloc_" + std::to_string(::getpid()) + ".xml");
  std::ofstream(file, std::ios::binary) << xml;
  ::setenv("HWLOC_XMLFILE", file.c_str(), 1);
  std::vector<Finding> findings;
  auto machine = read_hwloc("libhwloc.so.15", findings);
  ::unsetenv("HWLOC_XMLFILE");
  fs::remove(file);
  return machine;
}

const char* const hwloc_machine = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003" allowed_cpuset="0x00000003" nodeset="0x00000001" complete_nodeset="0x00000001" allowed_nodeset="0x00000001" gp_index="1">
    <object type="Package" os_index="7" cpuset="0x00000003" complete_cpuset="0x00000003" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="3">
      <info name="CPUModel" value="A Processor"/>
      <object type="NUMANode" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="14" local_memory="24924872704"/>
      <object type="L3Cache" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="8" cache_size="33554432" depth="3" cache_linesize="64" cache_associativity="16" cache_type="0">
        <object type="Core" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="2">
          <object type="PU" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="4"/>
        </object>
        <object type="Core" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="9">
          <object type="PU" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="10"/>
        </object>
      </object>
      <object type="Bridge" gp_index="18" bridge_type="0-1" depth="0" bridge_pci="0000:[00-01]">
        <object type="Bridge" gp_index="19" bridge_type="1-1" depth="1" bridge_pci="0000:[01-01]" pci_busid="0000:00:01.0" pci_type="0604 [8086:347a] [8086:0000] 04" pci_link_speed="31.507692">
          <object type="PCIDev" gp_index="20" pci_busid="0000:01:00.0" pci_type="0302 [10de:20b5] [10de:1533] a1" pci_link_speed="31.507692"/>
        </object>
      </object>
    </object>
  </object>
</topology>
)";

TEST(Hwloc, TheLibraryTellsPackagesMemoryAndCaches) {
  const auto machine = asked_of_hwloc(hwloc_machine);
  if (!machine) GTEST_SKIP() << "libhwloc is not installed";
  const auto& details = machine->numa_details.at(0);
  EXPECT_EQ(details.at("package"), "7");
  EXPECT_EQ(details.at("processor"), "A Processor");
  EXPECT_EQ(details.at("memory_bytes"), "24924872704");
  EXPECT_EQ(details.at("l3_bytes"), "33554432");
  EXPECT_EQ(machine->processors.at(0), "0-1");
}

TEST(Hwloc, ItsPciTreeStandsInForHiddenFiles) {
  const auto told = asked_of_hwloc(hwloc_machine);
  if (!told) GTEST_SKIP() << "libhwloc is not installed";
  PciMachine machine;  // as where /sys shows nothing
  add_hwloc(*told, machine);
  const auto topology = topology_from_pci(machine);
  ASSERT_EQ(topology.gpus().size(), 1U);
  EXPECT_EQ(topology.node(topology.find("numa0").value()).details.at("package"), "7");
}

TEST(Hwloc, TheKernelsFilesGoFirst) {
  PciMachine kernel, hwloc;
  PciFunction function;
  function.address.bus = 1;
  function.numa = 3;
  function.width = 8;
  kernel.functions = {function};
  kernel.processors = {{3, "0-7"}};
  function.numa = 0;
  function.width = 16;
  hwloc.functions = {function};
  hwloc.processors = {{3, "8-15"}, {0, "0-1"}};
  add_hwloc(hwloc, kernel);
  EXPECT_EQ(kernel.functions.at(0).numa, 3);
  EXPECT_EQ(kernel.functions.at(0).width, 8);
  EXPECT_EQ(kernel.processors.at(3), "0-7");
  kernel.functions[0].numa.reset();
  add_hwloc(hwloc, kernel);
  EXPECT_EQ(kernel.functions.at(0).numa, 0);
}

#ifdef RINGSIDE_FAKE_CUDART
TEST(Live, AsksTheCudaRuntimeWhoReachesWhom) {
  // The double's devices lie at 01:00.0 to 04:00.0; the last two are GPU0 and GPU1.
  ::setenv("FAKECUDA_DEVICES", "4", 1);
  ::setenv("FAKECUDA_ACCESS", "0111/1011/1101/1100", 1);  // 3 does not reach 2
  const Machine machine;
  const auto built = read_live(
      {.root = machine.root(), .nvml = "", .hwloc = "", .cuda = {"none.so", RINGSIDE_FAKE_CUDART}});
  const auto& topology = built.topology;
  const NodeId first = topology.find("GPU0").value(), second = topology.find("GPU1").value();
  EXPECT_EQ(topology.node(first).details.at("cuda_device"), "2");
  ASSERT_EQ(topology.peer_access.size(), 2U);
  EXPECT_EQ(topology.peer_access[0],
            (PeerAccess{.from = first, .to = second, .capability = "", .status = "OK"}));
  EXPECT_EQ(topology.peer_access[1],
            (PeerAccess{.from = second, .to = first, .capability = "", .status = "refused"}));
}
#endif

}  // namespace
}  // namespace ringside::tests
