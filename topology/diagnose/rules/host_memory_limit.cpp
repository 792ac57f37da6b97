// SPDX-License-Identifier: MIT
/// D14: every staged byte is written to and read from the host's memory, which is the limit.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"
#include "ringside/topology/diagnose/rules/tables.hpp"

namespace ringside {
namespace {

/// A ring on n GPUs stages n times its bus bandwidth. Where that sum stays while n grows, what all
/// share is the limit.
constexpr double same_sum = 0.25;
constexpr double clearly_fewer = 0.75;

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto staging = staging_of(evidence);
  if (!staging) return {};
  const auto tables = tables_of_one_host(evidence);
  for (const auto& few : tables)
    for (const auto& many : tables) {
      const int less = few->ranks.value_or(0), more = many->ranks.value_or(0);
      if (less < 2 || more <= less || few->collective != many->collective) continue;
      const auto before = best_row(evidence, few), after = best_row(evidence, many);
      if (!before || !after || after->busbw > clearly_fewer * before->busbw) continue;
      const double sums = after->busbw * more / (before->busbw * less);
      if (std::abs(sums - 1) > same_sum) continue;
      Diagnosis found;
      found.certainty = Certainty::likely;
      found.why = fmt::format(
          "with {} GPUs each moves {} GB/s, with {} only {} GB/s (bus bandwidth, measured): "
          "together "
          "they move as much as before, so something that all share is full; staged data cross the "
          "host's memory twice",
          less, gb(before->busbw), more, gb(after->busbw));
      add_lines(found.shown, {before->line, after->line});
      add_lines(found.shown, staging->lines);
      found.confirm =
          "copies of several pairs at once (ringside bench --preflight) add up to no "
          "more; dmidecode -t memory shows free memory channels";
      found.fix =
          "memory in all channels of the processor; buffers on the GPU's own NUMA node; an "
          "algorithm with fewer staged hops (tree, halving and doubling)";
      found.slowdown = before->busbw / after->busbw;
      found.decided_by = {Input::concurrent_bandwidth, Input::host_bandwidth};
      return {std::move(found)};
    }
  return {};
}

}  // namespace

Rule host_memory_limit_rule() {
  return {.id = "D14",
          .title = "The host's memory is the limit",
          .source = "NVIDIA/nccl#1639, NVIDIA/nccl-tests#332, #270, NVIDIA/nccl#1530",
          .inputs = {Input::collective, Input::concurrent_bandwidth},
          .find = find};
}

}  // namespace ringside
