// SPDX-License-Identifier: MIT
#include "ringside/topology/live/nvml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ringside/topology/live/library.hpp"

namespace ringside {
namespace {

// The part of NVML's interface that is used, as its documentation gives it.
using Device = struct nvmlDevice_st*;

struct PciInfo {
  std::array<char, 16> bus_id_legacy;
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  std::array<char, 32> bus_id;
};

constexpr int success = 0;
constexpr unsigned most_links = 18, most_gpus = 256;

class Nvml {
 public:
  explicit Nvml(const std::string& path) : library_(path) {
    library_.find(init, "nvmlInit_v2");
    library_.find(shutdown, "nvmlShutdown");
    library_.find(count, "nvmlDeviceGetCount_v2");
    library_.find(by_index, "nvmlDeviceGetHandleByIndex_v2");
    library_.find(name, "nvmlDeviceGetName");
    library_.find(pci_info, "nvmlDeviceGetPciInfo_v3");
    library_.find(link_state, "nvmlDeviceGetNvLinkState");
    library_.find(link_peer, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
  }

  [[nodiscard]] bool opened() const { return library_.opened(); }
  [[nodiscard]] bool usable() const {
    return init && shutdown && count && by_index && name && pci_info;
  }

  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*pci_info)(Device, PciInfo*) = nullptr;
  int (*link_state)(Device, unsigned, int*) = nullptr;
  int (*link_peer)(Device, unsigned, PciInfo*) = nullptr;

 private:
  Library library_;
};

PciAddress address_of(const PciInfo& info) {
  return {.domain = info.domain,
          .bus = static_cast<std::uint8_t>(info.bus),
          .device = static_cast<std::uint8_t>(info.device),
          .function = 0};
}

NvmlGpu read_gpu(const Nvml& nvml, unsigned index, Device device) {
  NvmlGpu gpu;
  gpu.index = static_cast<int>(index);
  std::array<char, 128> name{};
  if (nvml.name(device, name.data(), name.size() - 1) == success) gpu.name = name.data();
  PciInfo info{};
  if (nvml.pci_info(device, &info) == success) gpu.address = address_of(info);
  if (nvml.link_state == nullptr || nvml.link_peer == nullptr) return gpu;
  for (unsigned link = 0; link < most_links; ++link) {
    int active = 0;
    PciInfo peer{};
    if (nvml.link_state(device, link, &active) == success && active == 1 &&
        nvml.link_peer(device, link, &peer) == success)
      ++gpu.links[address_of(peer)];
  }
  return gpu;
}

void note(std::vector<Finding>& findings, std::string text) {
  findings.push_back({Severity::note, 0, std::move(text)});
}

}  // namespace

std::vector<NvmlGpu> read_nvml(const std::string& library, std::vector<Finding>& findings) {
  const Nvml nvml(library);
  if (!nvml.opened()) {
    note(findings,
         fmt::format("no NVIDIA driver ({} cannot be opened): GPU names and NVLinks are not known",
                     library));
    return {};
  }
  if (!nvml.usable() || nvml.init() != success) {
    note(findings, fmt::format("{} is there, but the driver does not answer", library));
    return {};
  }
  std::vector<NvmlGpu> gpus;
  unsigned count = 0;
  if (nvml.count(&count) == success)
    for (unsigned index = 0; index < std::min(count, most_gpus); ++index) {
      Device device = nullptr;
      if (nvml.by_index(index, &device) == success) gpus.push_back(read_gpu(nvml, index, device));
    }
  nvml.shutdown();
  return gpus;
}

void add_nvml(const std::vector<NvmlGpu>& gpus, Topology& topology,
              std::vector<Finding>& findings) {
  std::map<PciAddress, NodeId> switches;
  const auto end_of = [&](const PciAddress& address) {
    if (const auto known = topology.find(address)) return *known;
    const auto [at, added] = switches.emplace(address, -1);
    if (added) {
      Node node;
      node.kind = NodeKind::nvswitch;
      node.name = fmt::format("nvswitch{}", switches.size() - 1);
      node.address = address;
      at->second = topology.add(std::move(node));
    }
    return at->second;
  };
  for (const auto& gpu : gpus) {
    const auto id = gpu.address ? topology.find(*gpu.address) : std::nullopt;
    if (!id) {
      findings.push_back({Severity::warning, 0,
                          fmt::format("the driver's GPU {} ({}) is not among the kernel's devices",
                                      gpu.index, gpu.name)});
      continue;
    }
    topology.node(*id).model = gpu.name;
    topology.node(*id).number = gpu.index;
    for (const auto& [peer, count] : gpu.links) {
      const NodeId other = end_of(peer);
      const bool known = std::ranges::any_of(topology.links_from(*id), [&](LinkId each) {
        return topology.link(each).kind == LinkKind::nvlink && topology.link(each).to == other;
      });
      if (known || other == *id) continue;
      Link link;
      link.from = *id;
      link.to = other;
      link.kind = LinkKind::nvlink;
      link.count = count;
      topology.connect(link);
    }
  }
}

}  // namespace ringside
