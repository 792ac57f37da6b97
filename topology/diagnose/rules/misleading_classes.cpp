// SPDX-License-Identifier: MIT
/// D32: how far apart `topo -m` says that GPUs are tells little of how fast they are together.
#include <fmt/format.h>

#include <algorithm>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

constexpr double as_fast = 0.95;

bool is_far(const GpuPair& pair) {
  return !pair.fabric && pair.pcie.decided() && pair.pcie.value == LinkClass::sys;
}
bool is_near(const GpuPair& pair) {
  return !pair.fabric && pair.pcie.decided() && pair.pcie.value <= LinkClass::phb;
}

Diagnosis doubtful(const Evidence& evidence, std::string why) {
  Diagnosis found;
  found.harm = Harm::risk;
  found.why = std::move(why);
  for (const auto& matrix : evidence.all<LinkMatrix>())
    add_lines(found.shown, evidence.rows_of(*matrix.reading, matrix->names), 4);
  found.confirm =
      "ringside bench --preflight: copies between the pairs, with and without peer access, decide";
  found.fix =
      "believe what was measured, not the classes: NCCL_P2P_LEVEL=SYS where far pairs are fast, as "
      "NCCL goes by the classes";
  found.decided_by = {Input::pair_bandwidth};
  return found;
}

/// SYS between GPUs of which nobody knows the NUMA node.
bool unknown_nodes(const Evidence& evidence) {
  const auto matrices = evidence.all<LinkMatrix>();
  if (matrices.empty()) return false;
  return std::ranges::all_of(matrices, [](const Found<LinkMatrix>& matrix) {
    const auto& columns = matrix->columns;
    if (std::ranges::find(columns, "numa") == columns.end()) return false;
    return std::ranges::all_of(matrix->numa_affinity, [](const auto& each) {
      return !each.second || each.second->empty() || *each.second == "N/A";
    });
  });
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto pairs = gpu_pairs(evidence);
  if (std::ranges::none_of(pairs, is_far)) return {};
  const auto far = mean_measured(evidence, pairs, true, is_far),
             near = mean_measured(evidence, pairs, true, is_near);
  if (far && near) {
    if (*far < as_fast * *near) return {};
    return {
        doubtful(evidence, fmt::format("pairs that are SYS from each other copy {} GB/s, nearer "
                                       "ones {} GB/s (measured, mean)",
                                       gb(*far), gb(*near)))};
  }
  if (!far && unknown_nodes(evidence))
    return {doubtful(evidence,
                     "GPUs are SYS from each other, but the kernel knows no NUMA node of theirs: "
                     "that may be one socket whose firmware does not tell")};
  return {};
}

}  // namespace

Rule misleading_classes_rule() {
  return {
      .id = "D32",
      .title = "The classes of topo -m say little of this machine",
      .source = "public file 19878368445, NVIDIA/nccl#814, NVIDIA/nccl-tests#293, NVIDIA/nccl#1530",
      .inputs = {Input::topology_matrix, Input::pair_bandwidth},
      .find = find};
}

}  // namespace ringside
