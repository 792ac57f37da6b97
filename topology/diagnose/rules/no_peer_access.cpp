// SPDX-License-Identifier: MIT
/// D05: the cards, or what they are plugged into, do not support peer access.
#include <fmt/format.h>

#include <algorithm>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

std::string_view who_refuses(std::string_view status) {
  if (status == "CNS") return "the chipset, or the virtual machine, does not support it (CNS)";
  if (status == "GNS") return "the GPUs do not support it (GNS)";
  if (status == "TNS") return "the driver does not support it in this topology (TNS)";
  if (status == "DR") return "a setting of the driver switches it off (DR)";
  if (status == "NS") return "the driver does not support it for these GPUs (NS)";
  return "by whom it is refused (GPUs, chipset, virtual machine, a setting) is not told";
}

bool is_of_amd(const Evidence& evidence) {
  return !evidence.all<RocmTopology>().empty() || has_model(evidence, "amd") ||
         has_model(evidence, "radeon") || has_model(evidence, "instinct");
}

/// What refuses decides what can be done.
std::string fix_for(const Evidence& evidence, std::string_view status) {
  const std::string rest =
      "data go through the host's memory, however near the cards are; what can be won is how that "
      "is done (D12) and in which order (D13)";
  if (status == "CNS")
    return "on real hardware another slot, if the board's manual names one behind the same switch "
           "or processor; in a virtual machine see D08. Otherwise " +
           rest;
  if (status == "TNS" || status == "DR")
    return "look at the driver's settings (nvidia-smi -q, modprobe's options). Otherwise " + rest;
  if (is_of_amd(evidence))
    return "switch on Above 4G decoding and Resizable BAR (a BAR as large as the memory) in the "
           "BIOS, see whether an IOMMU translates (iommu=pt), and which of ROCm's versions "
           "supports "
           "peer access for these GPUs. Otherwise " +
           rest;
  if (status != "NS" && status != "GNS")
    return "find out who refuses: nvidia-smi topo -p2p r prints GNS for the GPUs, CNS for the "
           "chipset or the virtual machine, DR for a setting. Until then " +
           rest;
  return "nothing in NVIDIA's driver: cards such as GeForce, T4 and L4 have no peer access over "
         "PCIe, so " +
         rest;
}

Diagnosis diagnosis_of(const Evidence& evidence, std::string why, std::vector<ShownLine> lines,
                       std::string_view status) {
  Diagnosis found;
  found.certainty = Certainty::certain;
  found.why = std::move(why);
  found.shown = std::move(lines);
  found.fix = fix_for(evidence, status);
  return found;
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  int denied = 0, all = 0;
  std::string status;
  for (const auto& pair : gpu_pairs(evidence)) {
    if (pair.fabric || pair.status.empty() || pair.status == "U") continue;
    ++all;
    if (pair.status == "OK") continue;
    ++denied;
    status = pair.status;
  }
  const auto staging = staging_of(evidence);
  if (denied > 0)
    return {diagnosis_of(
        evidence,
        fmt::format("{} of {} pairs have no peer access: {}", denied, all, who_refuses(status)),
        staging ? staging->lines : std::vector<ShownLine>{}, status)};
  if (staging && staging->by_driver)

    return {diagnosis_of(evidence, fmt::format("{}; {}", staging->why, who_refuses("")),
                         staging->lines, "")};
  for (const auto& log : evidence.all<NcclLog>()) {
    auto lines = evidence.lines_with(*log.reading, "P2P is disabled between connected GPUs", 2);
    if (!lines.empty())
      return {diagnosis_of(evidence, "NCCL finds no peer access between connected GPUs",
                           std::move(lines), "")};
  }
  return {};
}

}  // namespace

Rule no_peer_access_rule() {
  return {.id = "D05",
          .title = "The GPUs cannot reach each other's memory",
          .source =
              "NVIDIA/nccl#1127, NVIDIA/nccl#318, noonghunna/club-3090#1229, public files "
              "69448194383, 62521783817",
          .inputs = {Input::peer_matrix, Input::pair_bandwidth, Input::nccl_log},
          .find = find};
}

}  // namespace ringside
