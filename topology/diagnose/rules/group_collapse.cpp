// SPDX-License-Identifier: MIT
/// D11: any two GPUs are fine together, three or more are a hundred times slower.
#include <fmt/format.h>

#include <algorithm>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"
#include "ringside/topology/diagnose/rules/tables.hpp"

namespace ringside {
namespace {

constexpr double collapsed = 0.05;
/// A pair's own rate must show that nothing is wrong with it.
constexpr double sound_pair = 1.0;  // GB/s

/// More than PCIe carries: the pair went over NVLink, so a group may well be that much slower.
constexpr double most_of_pcie = 64.0;  // GB/s, 16 lanes of generation 5

/// The largest size that both tables have.
std::optional<std::uint64_t> common_size(const CollectiveRows& first,
                                         const CollectiveRows& second) {
  constexpr std::uint64_t least = std::uint64_t{1} << 20;
  std::optional<std::uint64_t> largest;
  for (const auto& row : first.rows)
    if (row.size >= least && row.size > largest.value_or(0) &&
        std::ranges::find(second.rows, row.size, &CollectiveRow::size) != second.rows.end())
      largest = row.size;
  return largest;
}

std::optional<BestRow> row_at(const Evidence& evidence, const Found<CollectiveRows>& table,
                              std::uint64_t size) {
  const auto row = std::ranges::find(table->rows, size, &CollectiveRow::size);
  const auto timing = timing_of(*row);
  if (!timing) return std::nullopt;
  return BestRow{.busbw = timing->busbw,
                 .bytes = size,
                 .line = line_of_size(evidence, table, size),
                 .table = table.facts};
}

/// NVLink joins some GPUs and not others, as far as that is told.
bool some_are_joined(const Evidence& evidence) {
  const auto pairs = gpu_pairs(evidence);
  const auto joined = std::ranges::count_if(pairs, &GpuPair::fabric);
  return joined > 0 && joined < static_cast<std::ptrdiff_t>(pairs.size());
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto tables = tables_of_one_host(evidence);
  if (some_are_joined(evidence)) return {};
  for (const auto& pair : tables) {
    if (pair->ranks != 2) continue;
    for (const auto& group : tables) {
      if (group->ranks.value_or(0) < 3 || group->collective != pair->collective ||
          group->algorithm != pair->algorithm)
        continue;
      const auto size = common_size(*pair.facts, *group.facts);
      if (!size) continue;
      const auto alone = row_at(evidence, pair, *size), together = row_at(evidence, group, *size);
      if (!alone || alone->busbw < sound_pair || !together ||
          together->busbw > collapsed * alone->busbw)
        continue;
      const bool over_nvlink = alone->busbw > most_of_pcie || has_model(evidence, "sxm");
      Diagnosis found;
      found.certainty = over_nvlink ? Certainty::possible : Certainty::certain;
      found.why = fmt::format(
          "2 GPUs reach {} GB/s, {} GPUs {} GB/s (bus bandwidth at {} bytes, measured): {}",
          gb(alone->busbw), *group->ranks, gb(together->busbw), *size,
          over_nvlink
              ? "these two may be joined by NVLink and the others not, or NCCL takes another "
                "path for groups"
              : "no link is that much slower than another, so NCCL takes another path for "
                "groups");
      add_lines(found.shown, {alone->line, together->line});
      found.confirm =
          "groups of 3 and 4 chosen by socket: only those with two GPUs of one socket "
          "beside others collapse";
      found.fix = "set NCCL_P2P_LEVEL=SYS for the job, which restored the speed there";
      if (over_nvlink) found.decided_by = {Input::topology_matrix};
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
