// SPDX-License-Identifier: MIT
#include "ringside/topology/build/from_lspci.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "ringside/base/text.hpp"
#include "ringside/topology/build/from_pci.hpp"
#include "ringside/topology/path.hpp"

namespace ringside {
namespace {

// The classes that from_pci.hpp looks at.
constexpr std::uint32_t gpu_class = 0x030200, nic_class = 0x020000, bridge_class = 0x060400;

template <std::size_t size>
bool has_one_of(std::string_view text, const std::array<std::string_view, size>& words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

/// "NVIDIA Corporation GA102 [GeForce RTX 3090]", "3D controller: NVIDIA ...", and none of the
/// other functions of the card.
bool describes_gpu(std::string_view text) {
  static constexpr std::array<std::string_view, 6> makers = {
      "NVIDIA", "nVidia", "[AMD/ATI]", "Instinct", "Hygon", "Data Center GPU"};
  static constexpr std::array<std::string_view, 12> others = {
      "Audio",  "USB",      "Serial",   "NVSwitch",  "Bridge",          "bridge",
      "Switch", "Mellanox", "ConnectX", "BlueField", "Host Controller", "Upstream"};
  return has_one_of(text, makers) && !has_one_of(text, others);
}

bool describes_nic(std::string_view text) {
  static constexpr std::array<std::string_view, 10> words = {
      "Ethernet",   "Mellanox",  "ConnectX",  "BlueField",          "Infiniband",
      "InfiniBand", "NetXtreme", "Omni-Path", "Network Connection", "Network Adapter"};
  return has_one_of(text, words) && text.find("ridge") == std::string_view::npos;
}

/// The addresses that other readings call GPUs or NICs.
struct KnownDevices {
  std::set<PciAddress> gpus, nics;
  std::map<PciAddress, int> numa;

  void add(std::string_view bus_id) {
    if (const auto address = parse_pci_address(bus_id)) gpus.insert(*address);
  }
  void add(const std::vector<MeasuredDevice>& devices) {
    for (const auto& each : devices)
      if (each.address) gpus.insert(*each.address);
  }
};

std::vector<LspciDevice> all_devices(const LspciLinks& links) {
  auto devices = links.devices;
  devices.insert(devices.end(), links.listed.begin(), links.listed.end());
  return devices;
}

KnownDevices known_devices(std::span<const Reading> readings) {
  KnownDevices known;
  for (const auto& reading : readings) {
    if (const auto* query = std::get_if<SmiQuery>(&reading.facts))
      for (const auto& each : query->gpus) known.add(each.bus_id);
    if (const auto* csv = std::get_if<SmiCsv>(&reading.facts))
      for (const auto& each : csv->gpus) known.add(each.bus_id);
    if (const auto* rocm = std::get_if<RocmTopology>(&reading.facts))
      for (const auto& each : rocm->addresses) known.add(each);
    if (const auto* test = std::get_if<PeerBandwidthTest>(&reading.facts)) known.add(test->devices);
    if (const auto* test = std::get_if<NvBandwidth>(&reading.facts)) known.add(test->devices);
    if (const auto* report = std::get_if<PreflightReport>(&reading.facts))
      for (const auto& each : report->devices) known.add({each.device});
    if (const auto* links = std::get_if<LspciLinks>(&reading.facts))
      for (const auto& each : all_devices(*links)) {
        const auto address = parse_pci_address(each.address);
        if (address && describes_gpu(each.description)) known.gpus.insert(*address);
        if (address && describes_nic(each.description)) known.nics.insert(*address);
        if (address && each.numa) known.numa.emplace(*address, *each.numa);
      }
  }
  return known;
}

PciMachine machine_of(const LspciTree& tree, const KnownDevices& known) {
  PciMachine machine;
  for (const auto& each : tree.functions) {
    PciFunction function;
    function.address = each.address;
    function.parent = each.parent;
    function.host_bridge = "pci" + each.root;
    if (const auto node = known.numa.find(each.address); node != known.numa.end())
      function.numa = node->second;
    if (each.is_bridge)
      function.class_code = bridge_class;
    else if (known.gpus.contains(each.address) || describes_gpu(each.description))
      function.class_code = gpu_class;
    else if (known.nics.contains(each.address) || describes_nic(each.description))
      function.class_code = nic_class;
    machine.functions.push_back(std::move(function));
  }
  return machine;
}

std::vector<PciFunction*> gpus_of(PciMachine& machine) {
  std::vector<PciFunction*> gpus;
  for (auto& each : machine.functions)
    if (each.class_code == gpu_class) gpus.push_back(&each);
  std::ranges::sort(gpus, {}, [](const PciFunction* each) { return each->address; });
  return gpus;
}

/// nvidia-smi counts in the order of the addresses.
void note_numa_nodes(std::span<const Reading> readings, const std::vector<PciFunction*>& gpus) {
  for (const auto& reading : readings) {
    const auto* matrix = std::get_if<LinkMatrix>(&reading.facts);
    if (matrix == nullptr || matrix->gpus != gpus.size()) continue;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const auto cell = matrix->numa_affinity.find(fmt::format("GPU{}", i));
      if (cell == matrix->numa_affinity.end() || !cell->second) continue;
      if (const auto node = parse_int(*cell->second, 0, 1'000'000))
        gpus[i]->numa = static_cast<int>(*node);
    }
  }
}

/// What `lspci -vvv` tells of ports.
void note_redirects(std::span<const Reading> readings, PciMachine& machine) {
  for (const auto& reading : readings) {
    const auto* links = std::get_if<LspciLinks>(&reading.facts);
    if (links == nullptr) continue;
    for (const auto& device : links->devices) {
      const auto address = parse_pci_address(device.address);
      if (!device.acs || !address) continue;
      for (auto& each : machine.functions)
        if (each.address == *address) each.acs_redirect = device.acs->redirects();
    }
  }
}

/// Devices of a NUMA node that nothing states may be of several.
void mark_undecided(Topology& topology) {
  auto devices = topology.gpus();
  std::ranges::copy(topology.nics(), std::back_inserter(devices));
  std::ranges::sort(devices);
  for (std::size_t i = 0; i < devices.size(); ++i)
    for (std::size_t j = i + 1; j < devices.size(); ++j) {
      const bool unknown = topology.node(topology.root(devices[i])).origin == Origin::inferred ||
                           topology.node(topology.root(devices[j])).origin == Origin::inferred;
      const auto pair = link_class(topology, devices[i], devices[j], Medium::pcie);
      if (unknown && pair.value >= LinkClass::node && pair.value <= LinkClass::sys)
        topology.undecided.push_back({.first = devices[i],
                                      .second = devices[j],
                                      .at_least = LinkClass::node,
                                      .at_most = LinkClass::sys});
    }
}

void name_models(const LspciTree& tree, Topology& topology) {
  for (const auto& each : tree.functions)
    if (const auto id = topology.find(each.address); id && !each.description.empty())
      topology.node(*id).model = each.description;
}

}  // namespace

std::optional<Topology> topology_from_lspci(std::span<const Reading> readings) {
  const LspciTree* tree = nullptr;
  for (const auto& reading : readings)
    if (const auto* each = std::get_if<LspciTree>(&reading.facts); each && !tree) tree = each;
  if (tree == nullptr || tree->columns_lost) return std::nullopt;
  auto machine = machine_of(*tree, known_devices(readings));
  const auto gpus = gpus_of(machine);
  if (gpus.empty()) return std::nullopt;
  note_numa_nodes(readings, gpus);
  note_redirects(readings, machine);
  Topology topology = topology_from_pci(machine);
  name_models(*tree, topology);
  mark_undecided(topology);
  return topology;
}

}  // namespace ringside
