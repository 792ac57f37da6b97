// SPDX-License-Identifier: MIT
/// D25: links above GPUs may go to sleep (ASPM), and wake up late.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

/// GPUs and the bridges above them.
std::set<const LspciDevice*> on_the_way(const LspciLinks& links) {
  std::set<const LspciDevice*> found;
  for (const auto& gpu : links.devices) {
    if (!is_nvidia_gpu(gpu)) continue;
    found.insert(&gpu);
    for (const auto* bridge : bridges_above(links, gpu)) found.insert(bridge);
  }
  return found;
}

/// The device that a line is of: the last whose heading stands above.
const LspciDevice* device_at(const LspciLinks& links, int line) {
  const LspciDevice* found = nullptr;
  for (const auto& device : links.devices)
    if (device.line > 0 && device.line < line && (found == nullptr || device.line > found->line))
      found = &device;
  return found;
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto off = evidence.host_value(HostFactKind::kernel_parameter, "pcie_aspm");
  if (off && off->value == "off") return {};
  std::vector<ShownLine> lines;
  for (const auto& links : evidence.all<LspciLinks>()) {
    const auto devices = on_the_way(*links.facts);
    for (const auto& power : evidence.host(HostFactKind::power, "aspm"))
      if (power.line.source == links.reading->source &&
          power.value.find("Enabled") != std::string::npos &&
          devices.contains(device_at(*links.facts, power.line.number)))
        lines.push_back(power.line);
  }
  if (lines.empty()) return {};
  Diagnosis found;
  found.certainty = Certainty::possible;
  found.harm = Harm::risk;
  found.why = fmt::format(
      "{} link{} at or above GPUs may go to sleep (ASPM): elsewhere that made the first transfer "
      "slow, and cards fall off the bus",
      lines.size(), lines.size() == 1 ? "" : "s");
  add_lines(found.shown, lines, 4);
  found.confirm =
      "stalls of milliseconds after pauses, or lost cards, that are gone after one boot with "
      "pcie_aspm=off";
  found.fix =
      "if the check confirms it: pcie_aspm=off pcie_port_pm=off on the kernel's command line, and "
      "nvidia-smi -pm 1 (persistence mode)";
  found.decided_by = {Input::kernel_log};
  return {std::move(found)};
}

}  // namespace

Rule link_power_rule() {
  return {.id = "D25",
          .title = "PCIe links may go to sleep",
          .source = "voipmonitor/rtx6kpro, aikitoria/open-gpu-kernel-modules#12",
          .inputs = {Input::pcie_links, Input::kernel_log},
          .find = find};
}

}  // namespace ringside
