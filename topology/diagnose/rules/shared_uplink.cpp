// SPDX-License-Identifier: MIT
/// D23: several GPUs of one switch share its uplink: each copy is fine alone, together they are
/// not.
#include <fmt/format.h>

#include <algorithm>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

constexpr double clearly_less = 0.65;
/// Posted writes to several roots collapsed to a tenth at the source (37 -> 2.7 GB/s); sharing
/// alone leaves what one copy gets.
constexpr double collapsed = 0.5;

/// Copies out of one switch at once, and what each got alone.
struct Crossing {
  std::vector<std::string> names;
  double together = 0, alone = 0;  ///< sums, GB/s

  [[nodiscard]] double one_alone() const { return alone / static_cast<double>(names.size()); }
};

const GpuPair* pair_of(const std::vector<GpuPair>& pairs, int from, int to) {
  const auto found = std::ranges::find_if(pairs, [&](const GpuPair& pair) {
    return (pair.first == from && pair.second == to) || (pair.first == to && pair.second == from);
  });
  return found == pairs.end() ? nullptr : &*found;
}

bool below_one_switch(const GpuPair* pair) {
  return pair != nullptr && !pair->fabric && pair->pcie.decided() &&
         (pair->pcie.value == LinkClass::pix || pair->pcie.value == LinkClass::pxb);
}

/// All flows of the step that leave the switch of this one's source.
Crossing crossing_with(const PreflightReport::AtOnce& step,
                       const PreflightReport::AtOnce::Flow& flow, const Evidence& evidence,
                       const std::vector<GpuPair>& pairs) {
  Crossing crossing;
  for (const auto& other : step.flows) {
    const auto* way = pair_of(pairs, other.from, other.to);
    if (way == nullptr || way->fabric || below_one_switch(way)) continue;
    if (other.from != flow.from && !below_one_switch(pair_of(pairs, flow.from, other.from)))
      continue;
    const auto alone = evidence.measured.bandwidth(
        {.from = other.from, .to = other.to, .peer_access = step.peer_access});
    if (!alone) continue;
    crossing.names.push_back(fmt::format("{} to {}", other.from, other.to));
    crossing.together += other.gb_per_s;
    crossing.alone += *alone;
  }
  return crossing;
}

Diagnosis diagnosis_of(const Crossing& crossing) {
  Diagnosis found;
  found.certainty = Certainty::certain;
  const bool collapses = crossing.together < collapsed * crossing.one_alone();
  found.why = fmt::format(
      "{} copies leave one switch at once and get {} GB/s together, alone each gets {} GB/s "
      "(measured): {}",
      crossing.names.size(), gb(crossing.together), gb(crossing.one_alone()),
      collapses ? "less together than one alone, so writes to several roots collapse in the switch"
                : "they share the switch's one link to the processor");
  found.fix =
      "reduce inside each switch first and let one stream cross (a hierarchical algorithm, or a "
      "ring that enters and leaves every switch once)";
  if (collapses) found.fix += "; read across switches rather than write (transfer=pull)";
  if (collapses) found.mend.as_is = {"collapse=on"};
  found.mend.other_algorithm = true;
  found.slowdown = crossing.alone / std::max(crossing.together, 0.1);
  return found;
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto pairs = gpu_pairs(evidence);
  if (staging_of(evidence)) return {};  // what goes through the host crosses anyway (D13, D14)
  for (const auto& report : evidence.all<PreflightReport>())
    for (const auto& step : report->at_once) {
      if (step.peer_access == false || step.traffic == "all_to_all") continue;
      for (const auto& flow : step.flows) {
        const auto crossing = crossing_with(step, flow, evidence, pairs);
        if (crossing.names.size() > 1 && crossing.together < clearly_less * crossing.alone)
          return {diagnosis_of(crossing)};
      }
    }
  return {};
}

}  // namespace

Rule shared_uplink_rule() {
  return {
      .id = "D23",
      .title = "Several GPUs share one switch's link to the processor",
      .source =
          "voipmonitor/rtx6kpro, NVIDIA/nccl#1195, NVIDIA/nccl#1086, dmlc/dgl#5469, public file "
          "69847027015",
      .inputs = {Input::concurrent_bandwidth, Input::topology_matrix},
      .find = find};
}

}  // namespace ringside
