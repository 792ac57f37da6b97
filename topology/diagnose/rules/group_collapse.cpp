// SPDX-License-Identifier: MIT
/// D11: any two GPUs are fine together, three or more are a hundred times slower.
#include <fmt/format.h>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

constexpr double collapsed = 0.05;
/// A pair's own rate must show that nothing is wrong with it.
constexpr double sound_pair = 1.0;  // GB/s

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto tables = evidence.all<CollectiveRows>();
  for (const auto& pair : tables) {
    if (pair->ranks != 2) continue;
    const auto alone = best_row(evidence, pair);
    if (!alone || alone->busbw < sound_pair) continue;
    for (const auto& group : tables) {
      if (group->ranks.value_or(0) < 3 || group->collective != pair->collective ||
          group->algorithm != pair->algorithm)
        continue;
      const auto together = best_row(evidence, group);
      if (!together || together->busbw > collapsed * alone->busbw) continue;
      Diagnosis found;
      found.certainty = Certainty::certain;
      found.why = fmt::format(
          "2 GPUs reach {} GB/s, {} GPUs {} GB/s (bus bandwidth, measured): no link is that much "
          "slower than another, so NCCL takes another path for groups",
          gb(alone->busbw), *group->ranks, gb(together->busbw));
      add_lines(found.shown, {alone->line, together->line});
      found.confirm =
          "groups of 3 and 4 chosen by socket: only those with two GPUs of one socket "
          "beside others collapse";
      found.fix = "set NCCL_P2P_LEVEL=SYS for the job, which restored the speed there";
      found.slowdown = alone->busbw / std::max(together->busbw, 1e-3);
      return {std::move(found)};
    }
  }
  return {};
}

}  // namespace

Rule group_collapse_rule() {
  return {.id = "D11",
          .title = "Groups of GPUs collapse although every pair is fast",
          .source = "public file 63289460625",
          .inputs = {Input::collective},
          .find = find};
}

}  // namespace ringside
