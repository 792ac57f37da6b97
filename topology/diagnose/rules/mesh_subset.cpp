// SPDX-License-Identifier: MIT
/// D29: of an NVLink mesh those GPUs were chosen that are badly joined.
#include <fmt/format.h>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/nvlink_graph.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"
#include "ringside/topology/diagnose/rules/tables.hpp"

namespace ringside {
namespace {

constexpr int most_gpus = 10;  // of a mesh; every set of so many is looked at

std::string nvlinks(int count) { return fmt::format("{} NVLink{}", count, count == 1 ? "" : "s"); }

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto* topology = evidence.topology();
  const auto chosen = visible_gpus(evidence);
  if (topology == nullptr || !chosen || chosen->size() < 2) return {};
  const NvlinkGraph graph(*topology);
  const int count = static_cast<int>(chosen->size());
  if (!graph.has_links() || graph.gpus() > most_gpus || count >= graph.gpus()) return {};
  const auto better = graph.best_set(count);
  const int now = graph.best_ring(*chosen), best = graph.best_ring(better);
  if (now >= best) return {};
  Diagnosis found;
  found.certainty = Certainty::certain;
  found.why = fmt::format(
      "the best ring over the {} GPUs that were chosen ({}) {}; over {} every hop has {}", count,
      gpu_names(*topology, *chosen), now == 0 ? "leaves NVLink" : "has a hop of " + nvlinks(now),
      gpu_names(*topology, better), nvlinks(best));
  found.shown = {evidence.environment("CUDA_VISIBLE_DEVICES")->line};
  for (const auto& matrix : evidence.all<LinkMatrix>())
    add_lines(found.shown, evidence.rows_of(*matrix.reading, matrix->names), 9);
  found.fix = fmt::format(
      "CUDA_VISIBLE_DEVICES={}, or another set that NVLink joins as well: machines of one type may "
      "number their GPUs differently",
      gpu_numbers(*topology, better));
  found.slowdown = now == 0 ? 5 : static_cast<double>(best) / now;
  found.explains = {"D27"};
  return {std::move(found)};
}

}  // namespace

Rule mesh_subset_rule() {
  return {.id = "D29",
          .title = "The GPUs that were chosen are badly joined, others are not",
          .source = "NVIDIA/nccl-tests#29, public files 35246946826, 13579599698, 138696389",
          .inputs = {Input::topology_matrix},
          .find = find};
}

}  // namespace ringside
