// SPDX-License-Identifier: MIT
/// D12: NCCL's kernels read staged data from mapped host memory, far slower than copy engines could
/// bring them.
#include <fmt/format.h>

#include <algorithm>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"
#include "ringside/topology/diagnose/rules/tables.hpp"

namespace ringside {
namespace {

constexpr double far_below = 0.25;

/// The slowest pair's copy through the host, which is what a ring waits for.
std::optional<double> slowest_staged_copy(const Evidence& evidence) {
  std::optional<double> least;
  for (const auto& pair : evidence.measured.pairs) {
    if (pair.quantity != MeasuredQuantity::bandwidth || pair.peer_access != false ||
        pair.traffic != MeasuredTraffic::one_way || pair.from == pair.to)
      continue;
    least = std::min(least.value_or(pair.value), pair.value);
  }
  return least;
}

std::optional<BestRow> best_all_reduce(const Evidence& evidence) {
  std::optional<BestRow> best;
  for (const auto& table : tables_of_one_host(evidence)) {
    if (table->ours || (table->collective && *table->collective != "all_reduce")) continue;
    const auto row = best_row(evidence, table, std::uint64_t{8} << 20);
    if (row && (!best || row->busbw > best->busbw)) best = row;
  }
  return best;
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto staging = staging_of(evidence);
  if (!staging || connections_via(evidence, "SHM/CE") > 0) return {};
  const auto copy = slowest_staged_copy(evidence);
  const auto row = best_all_reduce(evidence);
  if (!copy || !row || row->busbw > far_below * *copy) return {};
  Diagnosis found;
  found.certainty = Certainty::likely;
  found.why = fmt::format(
      "the collective reaches {} GB/s (bus bandwidth, measured), while a plain copy from GPU to "
      "GPU "
      "through the host reaches {} GB/s (measured): NCCL's shared memory transport loads mapped "
      "host memory from a kernel, and each of these loads waits for the bus",
      gb(row->busbw), gb(*copy));
  add_lines(found.shown, {row->line});
  add_lines(found.shown, lines_via(evidence, "SHM"));
  add_lines(found.shown, staging->lines, 5);
  found.confirm =
      "with NCCL_SHM_USE_CUDA_MEMCPY=1 the log says \"via SHM/CE\", and the collective "
      "is several times as fast";
  found.fix =
      "set NCCL_SHM_USE_CUDA_MEMCPY=1 for the job: then the GPUs' copy engines move the data, not "
      "kernels (2.2 -> 10.6 GB/s with 4 RTX 4090, as measured by the source)";
  found.mend.as_is = {"p2p=off"};
  found.mend.mended = {"copies=engine"};
  found.slowdown = std::min(*copy / 2 / std::max(row->busbw, 0.1), 10.0);
  found.decided_by = {Input::nccl_log};
  return {std::move(found)};
}

}  // namespace

Rule slow_staging_rule() {
  return {.id = "D12",
          .title = "NCCL's kernels stage through the host where copy engines would be faster",
          .source = "public file 54950257725; compare NVIDIA/nccl-tests#307, #269",
          .inputs = {Input::collective, Input::pair_bandwidth, Input::nccl_log},
          .find = find};
}

}  // namespace ringside
