// SPDX-License-Identifier: MIT
/// D41: the two halves of a row differ much, so something disturbs the measurement.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ringside/base/text.hpp"
#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"
#include "ringside/topology/diagnose/rules/tables.hpp"

namespace ringside {
namespace {

constexpr std::uint64_t large = std::uint64_t{16} << 20;
constexpr double differs = 0.3;

double difference(const CollectiveRow& row) {
  if (row.size <= large || !row.out_of_place || !row.in_place) return 0;
  const double out = row.out_of_place->busbw, in = row.in_place->busbw;
  const double most = std::max(out, in);
  return most > 0 ? std::abs(out - in) / most : 0;
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  for (const auto& table : evidence.all<CollectiveRows>()) {
    const auto count = std::ranges::count_if(
        table->rows, [](const CollectiveRow& row) { return difference(row) > differs; });
    if (count == 0) continue;
    const auto& worst = *std::ranges::max_element(table->rows, {}, difference);
    const double out = worst.out_of_place->busbw, in = worst.in_place->busbw;
    Diagnosis found;
    found.certainty = Certainty::likely;
    found.why = fmt::format(
        "with {} the same collective reaches {} GB/s out of place and {} GB/s in place (bus "
        "bandwidth, measured), and {} row{} differ{} by more than {:.0f} %: congestion, heat, or "
        "a limit of power",
        format_bytes(worst.size), gb(out), gb(in), count, count == 1 ? "" : "s",
        count == 1 ? "s" : "", 100 * differs);
    found.shown = {line_of_size(evidence, table, worst.size)};
    found.confirm =
        "repeat with more iterations (-n 100) and nobody else on the machine; nvidia-smi -q -d "
        "PERFORMANCE while it runs names what limits the clocks";
    found.fix =
        "what the check shows: cooling, the limit of power (nvidia-smi -pl), other jobs on the "
        "GPUs or the network. Do not compare by this table";
    found.slowdown = std::max(out, in) / std::min(out, in);
    found.decided_by = {Input::processes};
    return {std::move(found)};
  }
  return {};
}

}  // namespace

Rule unstable_rates_rule() {
  return {.id = "D41",
          .title = "The rates are unstable",
          .source = "NVIDIA/nccl#1244, NVIDIA/nccl#1435, public file 52563584508",
          .inputs = {Input::collective},
          .find = find};
}

}  // namespace ringside
