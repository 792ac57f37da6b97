// SPDX-License-Identifier: MIT
/// D09: copies with peer access are slower than those through the host's memory.
#include <fmt/format.h>

#include <algorithm>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

/// What measurements of the same path differ by is less.
constexpr double clearly_slower = 0.8;

std::vector<Diagnosis> find(const Evidence& evidence) {
  int slower = 0, compared = 0;
  double worst = 1, worst_on = 0, worst_off = 0;
  std::string where;
  for (const auto& pair : gpu_pairs(evidence)) {
    if (pair.fabric) continue;
    const auto on = measured_pair(evidence, pair, true), off = measured_pair(evidence, pair, false);
    if (!on || !off || !(*off > 0)) continue;
    ++compared;
    if (*on > clearly_slower * *off) continue;
    ++slower;
    if (*on / *off >= worst) continue;
    worst = *on / *off;
    worst_on = *on;
    worst_off = *off;
    where = pair.names;
  }
  if (slower == 0 || worst_on == 0) return {};
  Diagnosis found;
  found.certainty = Certainty::certain;
  found.why = fmt::format(
      "{} of {} pairs that were measured both ways are slower with peer access than without; "
      "worst: "
      "{}, {} GB/s with, {} GB/s without (measured)",
      slower, compared, where, gb(worst_on), gb(worst_off));
  found.confirm = "the collective gets faster with NCCL_P2P_DISABLE=1";
  found.fix =
      "use peer access only where it is the faster way: NCCL_P2P_LEVEL=PHB (or NODE) for the job "
      "keeps it within a socket, NCCL_P2P_DISABLE=1 switches it off. On EPYC also try NPS4 in the "
      "BIOS, if the check above confirms it";
  found.slowdown = 1 / worst;
  return {std::move(found)};
}

}  // namespace

Rule slow_peer_access_rule() {
  return {.id = "D09",
          .title = "Peer access is slower than going through the host",
          .source = "NVIDIA/nccl#814, NVIDIA/nccl-tests#74, tinygrad/open-gpu-kernel-modules#17",
          .inputs = {Input::pair_bandwidth, Input::topology_matrix},
          .find = find};
}

}  // namespace ringside
