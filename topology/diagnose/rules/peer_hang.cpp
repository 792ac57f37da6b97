// SPDX-License-Identifier: MIT
/// D02: copies between GPUs never end, because ACS or an IOMMU swallows what peers write.
#include <fmt/format.h>

#include <algorithm>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

constexpr const char* fix =
    "at once: set NCCL_P2P_DISABLE=1 for the job, so that nothing goes from GPU to GPU directly. "
    "Then, if the check confirms it: switch ACS off on all bridges between the GPUs (BIOS), or add "
    "iommu=pt to the kernel's command line";
constexpr const char* confirm =
    "sudo lspci -vvv | grep ACSCtl shows ReqRedir+, or dmesg | grep 'Default domain type' shows "
    "Translated";

/// The lines that show that something stands between GPUs that may swallow their writes.
std::vector<ShownLine> suspects(const Evidence& evidence) {
  std::vector<ShownLine> lines;
  for (const auto& links : evidence.all<LspciLinks>())
    for (const auto& device : links->devices)
      if (device.acs && device.acs->redirects())
        if (const auto line = evidence.line(links.reading->source, device.acs_line))
          add_lines(lines, {*line}, 2);
  if (const auto iommu = translating_iommu(evidence)) add_lines(lines, {iommu->line}, 3);
  return lines;
}

bool is_hang(const PairFault& fault) { return fault.kind == "hang"; }

/// A log that ends as soon as the rings stand: what hangs is the first collective.
std::vector<ShownLine> log_that_ends_connected(const Evidence& evidence) {
  for (const auto& log : evidence.all<NcclLog>()) {
    auto lines = evidence.lines(
        *log.reading,
        [](std::string_view line) {
          return line.find("Connected all rings") != std::string_view::npos ||
                 line.find("Init COMPLETE") != std::string_view::npos;
        },
        2);
    const bool ends_there = !lines.empty() && log.reading->last_line - lines.back().number < 30;
    const bool has_results = !evidence.all<CollectiveRows>().empty();
    if (ends_there && !has_results && connections_via(evidence, "P2P") > 0) return lines;
  }
  return {};
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto& faults = evidence.measured.faults;
  const auto hang = std::ranges::find_if(
      faults, [](const PairFault& fault) { return is_hang(fault) && fault.peer_access != false; });
  const auto blamed = suspects(evidence);
  Diagnosis found;
  found.harm = Harm::hang;
  found.confirm = confirm;
  found.fix = fix;
  found.shown = blamed;
  found.decided_by = {Input::access_control, Input::kernel_command_line, Input::verified_copies};
  if (hang != faults.end()) {
    found.certainty = Certainty::likely;
    found.why =
        fmt::format("a copy between GPUs never ended ({}){}", hang->text,
                    blamed.empty() ? "; whether ACS or an IOMMU is why, the inputs do not tell"
                                   : ", and what is shown sends such copies up to the processor");
    return {std::move(found)};
  }
  if (const auto last = log_that_ends_connected(evidence); !last.empty() && !blamed.empty()) {
    add_lines(found.shown, last);
    found.certainty = Certainty::possible;
    found.why =
        "NCCL's log ends when its rings are connected, and what is shown sends copies between GPUs "
        "up to the processor, where they may be lost; the log may also be cut";
    return {std::move(found)};
  }
  return {};
}

}  // namespace

Rule peer_hang_rule() {
  return {.id = "D02",
          .title = "Copies between GPUs hang",
          .source = "NVIDIA/nccl#2079, NVIDIA/nccl#85, NVIDIA/nccl#19, NVIDIA/nccl#606",
          .inputs = {Input::verified_copies, Input::access_control, Input::kernel_command_line,
                     Input::nccl_log},
          .find = find};
}

}  // namespace ringside
