// SPDX-License-Identifier: MIT
/// D22: a PCIe link has signal errors: packets are sent again, the link is trained again, a card
/// falls off the bus.
#include <fmt/format.h>

#include <algorithm>
#include <map>

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

/// The counter of one GPU in two texts: it grew in between.
std::optional<Diagnosis> counter_grew(const Evidence& evidence) {
  std::map<std::string, int> first;
  for (const auto& link : gpu_links(evidence)) {
    if (!link.status->replays) continue;
    const auto [known, added] = first.emplace(link.name, *link.status->replays);
    if (added || known->second == *link.status->replays) continue;
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
  auto lines = complaints(evidence, "link", "");
  if (lines.empty()) return {};
  const auto count = lines.size();
  return {diagnosis_of(
      count >= several ? Certainty::likely : Certainty::possible,
      fmt::format("the kernel reports {} link error{} (AER)", count, count == 1 ? "" : "s"),
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
