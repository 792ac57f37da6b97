// SPDX-License-Identifier: MIT
/// D24: with one narrow card in the group NCCL leaves peer access for all of them.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

bool uses_only(const NcclLog& log, std::string_view transport) {
  return !log.transport_lines.empty() &&
         std::ranges::all_of(log.transport_lines,
                             [&](const auto& each) { return each.first.starts_with(transport); });
}

std::set<int> widths(const Evidence& evidence) {
  std::set<int> widths;
  for (const auto& link : gpu_links(evidence))
    if (const auto width = link.status->width_of("Current")) widths.insert(*width);
  return widths;
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto different = widths(evidence);
  if (different.size() < 2 || evidence.environment("NCCL_P2P_DISABLE")) return {};
  const auto logs = evidence.all<NcclLog>();
  for (const auto& few : logs)
    for (const auto& many : logs) {
      if (!uses_only(*few.facts, "P2P") || !uses_only(*many.facts, "SHM") ||
          few->ranks.value_or(0) >= many->ranks.value_or(0))
        continue;
      Diagnosis found;
      found.certainty = Certainty::certain;
      found.why = fmt::format(
          "{} GPUs reach each other directly, {} go through shared memory, and the cards' links "
          "differ ({} to {} lanes): one narrow card makes NCCL leave peer access for all",
          *few->ranks, *many->ranks, *different.begin(), *different.rbegin());
      found.shown = evidence.lines_with(*few.reading, "via P2P", 2);
      add_lines(found.shown, evidence.lines_with(*many.reading, "via SHM", 2));
      found.fix =
          "leave the narrow card out of the group or give it a wider slot; NCCL_P2P_LEVEL=SYS "
          "keeps "
          "peer access";
      found.mend.as_is = {"p2p=off"};
      found.slowdown = 1.5;
      found.explains = {"D10"};
      return {std::move(found)};
    }
  return {};
}

}  // namespace

Rule slow_card_ends_peer_access_rule() {
  return {.id = "D24",
          .title = "One narrow card makes NCCL leave peer access for all",
          .source = "tinygrad/open-gpu-kernel-modules#17",
          .inputs = {Input::nccl_log, Input::pcie_links},
          .find = find};
}

}  // namespace ringside
