// SPDX-License-Identifier: MIT
/// D35: a larger message takes less time than a smaller one: NCCL changes its protocol or algorithm
/// too late.
#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/text.hpp"
#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"
#include "ringside/topology/diagnose/rules/tables.hpp"

namespace ringside {
namespace {

constexpr std::uint64_t least_bytes = std::uint64_t{256} << 10;
constexpr double jump = 1.8;
/// Where messages are small a doubled one may take hardly longer: the rate then doubles with
/// nothing wrong. So the larger one must be over clearly earlier.
constexpr double earlier = 0.9;
/// A row that is lower than its neighbours on both sides is a disturbance, no cliff.
constexpr double dip = 0.8;

using Timing = std::optional<CollectiveTiming> CollectiveRow::*;

double rate(const CollectiveRow& row, Timing which) {
  const auto& timing = row.*which;
  return timing ? timing->busbw : 0;
}

bool jumps(const std::vector<CollectiveRow>& rows, std::size_t at, Timing which) {
  const auto& small = rows[at];
  const auto& large = rows[at + 1];
  const double before = rate(small, which), after = rate(large, which);
  if (!(before > 0) || small.size < least_bytes || large.size <= small.size) return false;
  const double times =
      static_cast<double>(large.size) / static_cast<double>(small.size) / (after / before);
  if (after < jump * before || times > earlier) return false;
  if (at > 0 && before < dip * rate(rows[at - 1], which)) return false;
  return at + 2 >= rows.size() || rate(rows[at + 2], which) >= dip * after;
}

/// Out of place and, where both were measured, in place as well.
bool is_cliff(const std::vector<CollectiveRow>& rows, std::size_t at) {
  const bool both = rows[at].in_place && rows[at + 1].in_place;
  return jumps(rows, at, &CollectiveRow::out_of_place) &&
         (!both || jumps(rows, at, &CollectiveRow::in_place));
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  for (const auto& table : evidence.all<CollectiveRows>()) {
    if (!is_of_nccl(*table.facts) || table->runs_interleaved) continue;
    for (std::size_t at = 0; at + 1 < table->rows.size(); ++at) {
      if (!is_cliff(table->rows, at)) continue;
      const auto &small = table->rows[at], &large = table->rows[at + 1];
      Diagnosis found;
      found.certainty = Certainty::certain;
      found.why = fmt::format(
          "{} reaches {} GB/s with {} and {} GB/s with {} (bus bandwidth, measured): the larger "
          "one is over earlier, so NCCL changes its protocol or algorithm there, and ought to "
          "before",
          table->collective.value_or("the collective"), gb(small.out_of_place->busbw),
          format_bytes(small.size), gb(large.out_of_place->busbw), format_bytes(large.size));
      found.shown = {line_of_size(evidence, table, small.size),
                     line_of_size(evidence, table, large.size)};
      found.confirm = "the same table with NCCL_PROTO=Simple has no jump there";
      found.fix =
          "NCCL_PROTO=Simple, if your messages are of that size and larger; between hosts also "
          "relaxed ordering of the NIC. A tuner's table of measured choices does better "
          "(ringside bench --tune)";
      found.slowdown = large.out_of_place->busbw / small.out_of_place->busbw;
      return {std::move(found)};
    }
  }
  return {};
}

}  // namespace

Rule rate_cliff_rule() {
  return {.id = "D35",
          .title = "NCCL changes its protocol too late",
          .source = "NVIDIA/nccl-tests#293, public file 69481037393, gardenlinux/gardenlinux#4556",
          .inputs = {Input::collective},
          .find = find};
}

}  // namespace ringside
