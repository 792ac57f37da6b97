// SPDX-License-Identifier: MIT
/// D22: a PCIe link has signal errors: packets are sent again, the link is trained again, a card
/// falls off the bus.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "ringside/base/text.hpp"
#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

/// One corrected error may come from switching the machine on.
constexpr std::size_t several = 3;

Diagnosis diagnosis_of(Certainty certainty, std::string why, std::vector<ShownLine> lines) {
  Diagnosis found;
  found.certainty = certainty;
  found.why = std::move(why);
  add_lines(found.shown, lines, 4);
  found.confirm =
      "nvidia-smi -q before and after some minutes of copies: \"Replays Since Reset\" grows; dmesg "
      "has new AER lines";
  found.fix =
      "reseat the card; a shorter riser or one with a retimer; as a stop-gap one PCIe generation "
      "less in the BIOS, which is slower and stable";
  found.slowdown = 1.2;
  found.decided_by = {Input::kernel_log};
  return found;
}

std::vector<ShownLine> complaints(const Evidence& evidence, std::string_view key,
                                  std::string_view part) {
  std::vector<ShownLine> lines;
  for (const auto& complaint : evidence.host(HostFactKind::complaint, key))
    if (complaint.value.find(part) != std::string::npos) lines.push_back(complaint.line);
  return lines;
}

/// "0000:04:00.0" in a line, in order.
std::vector<PciAddress> addresses_in(std::string_view line) {
  std::vector<PciAddress> found;
  for (auto word : split_blanks(line)) {
    while (word.ends_with(':') || word.ends_with(',')) word.remove_suffix(1);
    if (const auto address = parse_pci_address(word)) found.push_back(*address);
  }
  return found;
}

struct Addresses {
  std::set<PciAddress> gpus;  ///< and the bridges above them
  std::set<PciAddress> others;
};

void add_topology(const Topology& topology, Addresses& addresses) {
  for (const NodeId gpu : topology.gpus()) {
    std::optional<NodeId> node = gpu;
    while (node) {
      if (const auto& address = topology.node(*node).address) addresses.gpus.insert(*address);
      const auto up = topology.link_up(*node);
      node = up ? std::optional(topology.link(*up).to) : std::nullopt;
    }
  }
}

/// Neither a GPU of any maker nor a bridge, as far as its description tells.
bool is_no_gpu(const LspciDevice& device) {
  constexpr std::array<std::string_view, 5> signs = {"bridge", "VGA", "3D controller",
                                                     "Display controller", "accelerators"};
  return !device.description.empty() && std::ranges::none_of(signs, [&](std::string_view sign) {
    return device.description.find(sign) != std::string::npos;
  });
}

void add_lspci(const LspciLinks& links, Addresses& addresses) {
  const auto add = [](std::set<PciAddress>& to, const LspciDevice& device) {
    if (const auto address = parse_pci_address(device.address)) to.insert(*address);
  };
  for (const auto* list : {&links.devices, &links.listed})
    for (const auto& device : *list) {
      if (!is_nvidia_gpu(device)) continue;
      add(addresses.gpus, device);
      for (const auto* bridge : bridges_above(links, device)) add(addresses.gpus, *bridge);
    }
  for (const auto* list : {&links.devices, &links.listed})
    for (const auto& device : *list)
      if (is_no_gpu(device)) add(addresses.others, device);
}

/// The kernel puts the driver's name before a device: "nvme 0000:04:00.0: ...".
void add_drivers(const Evidence::Source& source, Addresses& addresses) {
  constexpr std::array<std::string_view, 4> gpu_drivers = {"nvidia", "nouveau", "amdgpu", "xe"};
  for (const auto& line : source.text.lines) {
    const auto words = split_blanks(line.text);
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (!words[i].ends_with(':')) continue;
      const auto address = parse_pci_address(words[i].substr(0, words[i].size() - 1));
      const auto driver = words[i - 1];
      const bool is_name = std::ranges::all_of(driver, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
      });
      if (!address || !is_name || driver == "pcieport" || driver == "pci" || driver == "from")
        continue;
      const bool of_gpu = std::ranges::find(gpu_drivers, driver) != gpu_drivers.end();
      (of_gpu ? addresses.gpus : addresses.others).insert(*address);
    }
  }
}

/// What inputs tell of who is who on the bus.
Addresses addresses_of(const Evidence& evidence) {
  Addresses addresses;
  if (const auto* topology = evidence.topology()) add_topology(*topology, addresses);
  for (const auto& link : gpu_links(evidence))
    if (const auto address = parse_pci_address(link.status->bus_id))
      addresses.gpus.insert(*address);
  for (const auto& links : evidence.all<LspciLinks>()) add_lspci(*links.facts, addresses);
  for (const auto& source : evidence.sources) add_drivers(source, addresses);
  for (const auto& gpu : addresses.gpus) addresses.others.erase(gpu);
  return addresses;
}

struct LinkErrors {
  std::vector<ShownLine> lines;  ///< of GPUs, and of devices that are not known
  std::size_t of_gpus = 0;
};

/// The kernel names the port that reports and the device that the error came from: the last.
LinkErrors link_errors(const Evidence& evidence) {
  const auto known = addresses_of(evidence);
  LinkErrors errors;
  for (const auto& complaint : evidence.host(HostFactKind::complaint, "link")) {
    const auto named = addresses_in(complaint.value);
    if (!named.empty() && known.others.contains(named.back())) continue;
    if (std::ranges::any_of(named, [&](const auto& each) { return known.gpus.contains(each); }))
      ++errors.of_gpus;
    errors.lines.push_back(complaint.line);
  }
  return errors;
}

/// The counter of one GPU in two texts: it grew in between.
std::optional<Diagnosis> counter_grew(const Evidence& evidence) {
  std::map<std::string, int> first;
  for (const auto& link : gpu_links(evidence)) {
    if (!link.status->replays) continue;
    const auto [known, added] = first.emplace(link.name, *link.status->replays);
    if (added || known->second >= *link.status->replays) {
      known->second = *link.status->replays;  // it fell: it counts anew since a reset
      continue;
    }
    return diagnosis_of(
        Certainty::likely,
        fmt::format(
            "the link of {} counted {} packets that were sent again, and {} at another time",
            link.name, known->second, *link.status->replays),
        evidence.lines_with(*link.reading, "Replays Since Reset"));
  }
  return std::nullopt;
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  // 79: the driver cannot reach the card any more (NVIDIA's table of Xid errors).
  if (auto lost = complaints(evidence, "xid", ": 79,"); !lost.empty()) {
    auto found = diagnosis_of(Certainty::likely,
                              "a card has fallen off the bus: the driver cannot reach it any more",
                              std::move(lost));
    found.harm = Harm::hang;
    found.fix += "; if it happens under load only, look at the power supply and its cables first";
    return {std::move(found)};
  }
  if (auto found = counter_grew(evidence)) return {std::move(*found)};
  auto [lines, of_gpus] = link_errors(evidence);
  if (lines.empty()) return {};
  const auto count = lines.size();
  const bool is_sure = of_gpus >= several;
  return {diagnosis_of(
      is_sure ? Certainty::likely : Certainty::possible,
      fmt::format("the kernel reports {} link error{} (AER){}", count, count == 1 ? "" : "s",
                  of_gpus == count ? " at GPUs and the bridges above them"
                                   : "; no input tells whether of a GPU"),
      std::move(lines))};
}

}  // namespace

Rule signal_errors_rule() {
  return {.id = "D22",
          .title = "A PCIe link has signal errors",
          .source = "ROCm/legacy-rocm-build#559, janhq/jan#183",
          .inputs = {Input::kernel_log, Input::pcie_links},
          .find = find};
}

}  // namespace ringside
