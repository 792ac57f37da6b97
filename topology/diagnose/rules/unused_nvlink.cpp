// SPDX-License-Identifier: MIT
/// D28: NVLink is there, but NCCL does not use it.
#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/text.hpp"
#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/nvlink_graph.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"
#include "ringside/topology/diagnose/rules/tables.hpp"

namespace ringside {
namespace {

constexpr double hardly_any = 0.2;
/// Smaller messages do not fill NVLink even where all is well.
constexpr std::uint64_t large_message = std::uint64_t{64} << 20;

/// A variable that keeps NCCL from going from GPU to GPU.
std::optional<StatedValue> forbidding(const Evidence& evidence) {
  if (auto disabled = switched_on(evidence, "NCCL_P2P_DISABLE")) return disabled;
  if (auto level = evidence.environment("NCCL_P2P_LEVEL");
      level && (level->value == "LOC" || level->value == "0"))
    return level;
  return std::nullopt;
}

/// The least that a GPU of the group has to others of it: no ring can carry more.
int links_within(const NvlinkGraph& graph, const std::vector<int>& gpus) {
  int least = 0;
  for (const int gpu : gpus) {
    int own = 0;
    bool switched = false;
    for (const int other : gpus) {
      // Over a switch the same links lead to all others.
      switched = switched || graph.links(gpu, other) > 6;
      own = switched ? std::max(own, graph.links(gpu, other)) : own + graph.links(gpu, other);
    }
    least = least == 0 ? own : std::min(least, own);
  }
  return least;
}

Diagnosis slow_fix(Certainty certainty) {
  Diagnosis found;
  found.certainty = certainty;
  found.confirm =
      "NCCL_DEBUG=INFO says \"via P2P\" for these GPUs when NVLink is used; nvidia-smi nvlink -s "
      "shows the links up; systemctl status nvidia-fabricmanager on machines with NVSwitch";
  found.fix =
      "no NCCL_P2P_DISABLE and no NCCL_P2P_LEVEL=LOC; ranks that share IPC and PID namespaces "
      "(containers: --ipc=host); nvidia-fabricmanager of the driver's version, started, on "
      "machines with NVSwitch";
  found.explains = {"D12", "D18"};
  return found;
}

std::vector<Diagnosis> by_measurement(const Evidence& evidence, const NvlinkGraph& graph) {
  const auto link = nvlink_nominal(*evidence.topology());
  if (!link) return {};
  for (const auto& table : evidence.all<CollectiveRows>()) {
    if (!is_of_nccl(*table.facts) || !goes_in_rings(*table.facts)) continue;
    const auto gpus = gpus_of(evidence, *table.facts);
    const auto best = best_row(evidence, table, large_message);
    if (!best || graph.best_ring(gpus) == 0) continue;
    const double sum = links_within(graph, gpus) * *link;
    if (best->busbw > hardly_any * sum) continue;
    auto found = slow_fix(Certainty::likely);
    found.why = fmt::format(
        "NVLink joins {}, but together they reach {} GB/s of bus bandwidth (measured), not even "
        "{:.0f} % of what its links carry",
        gpu_names(*evidence.topology(), gpus), gb(best->busbw), 100 * hardly_any);
    found.shown = {best->line};
    for (const auto& matrix : evidence.all<LinkMatrix>())
      add_lines(found.shown, evidence.rows_of(*matrix.reading, matrix->names), 3);
    found.slowdown = sum / std::max(best->busbw, 0.01);
    found.decided_by = {Input::nccl_log, Input::nvlink_status};
    return {std::move(found)};
  }
  return {};
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  for (const auto& complaint : evidence.host(HostFactKind::complaint, "fabric")) {
    auto found = slow_fix(Certainty::certain);
    found.harm = Harm::hang;
    found.why =
        "CUDA says that the system is not initialized: nothing has set up its NVSwitches, which "
        "nvidia-fabricmanager does";
    found.shown = {complaint.line};
    return {std::move(found)};
  }
  const auto* topology = evidence.topology();
  if (topology == nullptr) return {};
  const NvlinkGraph graph(*topology);
  if (!graph.has_links()) return {};
  if (const auto variable = forbidding(evidence);
      variable && connections_via(evidence, "P2P") == 0) {
    auto found = slow_fix(Certainty::certain);
    found.why =
        "GPUs are joined by NVLink, and a variable forbids NCCL to go from GPU to GPU at all, over "
        "PCIe and NVLink alike";
    found.shown = {variable->line};
    for (const auto& matrix : evidence.all<LinkMatrix>())
      add_lines(found.shown, evidence.rows_of(*matrix.reading, matrix->names), 3);
    found.fix = "unset " + std::string(variable->line.text.find("LEVEL") != std::string::npos
                                           ? "NCCL_P2P_LEVEL"
                                           : "NCCL_P2P_DISABLE");
    found.slowdown = 10;  // an SXM machine at the rate of its sockets, at the sources
    return {std::move(found)};
  }
  return by_measurement(evidence, graph);
}

}  // namespace

Rule unused_nvlink_rule() {
  return {.id = "D28",
          .title = "NVLink is there and is not used",
          .source = "NVIDIA/nccl#428, public files 40707345933, 52891055815",
          .inputs = {Input::collective, Input::topology_matrix, Input::nccl_log},
          .find = find};
}

}  // namespace ringside
