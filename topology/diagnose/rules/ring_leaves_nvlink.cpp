// SPDX-License-Identifier: MIT
/// D27: NVLink joins some GPUs, but no ring over all that take part stays in it, so the ring goes
/// at the rate of PCIe.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/nvlink_graph.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"
#include "ringside/topology/diagnose/rules/tables.hpp"

namespace ringside {
namespace {

/// Of what NVLink carries; above it the ring did not leave it.
constexpr double clearly_less = 0.5;

/// The strongest pair among these GPUs.
int most_links(const NvlinkGraph& graph, std::span<const int> gpus) {
  int most = 0;
  for (const int first : gpus)
    for (const int second : gpus) most = std::max(most, graph.links(first, second));
  return most;
}

bool leaves_nvlink(const NvlinkGraph& graph, std::span<const int> gpus) {
  return gpus.size() > 2 && most_links(graph, gpus) > 0 && graph.best_ring(gpus) == 0;
}

/// Between boxes every ring leaves NVLink, and nothing is wrong with that.
bool has_several_boxes(const Topology& topology) {
  return std::ranges::any_of(topology.nodes(), [](const Node& node) { return node.box > 0; });
}

std::vector<int> all_gpus(const NvlinkGraph& graph) {
  std::vector<int> all(static_cast<std::size_t>(graph.gpus()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Groups of GPUs that NVLink joins, by their places.
std::vector<std::vector<int>> joined(const NvlinkGraph& graph) {
  auto groups = graph.groups();
  std::erase_if(groups, [](const auto& group) { return group.size() < 2; });
  return groups;
}

std::string groups_text(const Topology& topology, const NvlinkGraph& graph, std::string_view inside,
                        std::string_view between) {
  std::string text;
  for (const auto& group : joined(graph))
    text += std::string(text.empty() ? "" : between) + gpu_numbers(topology, group, inside);
  return text;
}

/// Every GPU is in the group of its bridge, alone where it has none.
std::string all_groups(const Topology& topology, const NvlinkGraph& graph) {
  std::string text;
  for (const auto& group : graph.groups())
    text += (text.empty() ? "" : "/") + gpu_numbers(topology, group, "-");
  return text;
}

Diagnosis found_with(const Evidence& evidence, const NvlinkGraph& graph, Certainty certainty) {
  const Topology& topology = *evidence.topology();
  Diagnosis found;
  found.certainty = certainty;
  found.confirm =
      "all_reduce_perf -g 2 over two GPUs that NVLink joins is several times as fast as over all";
  found.fix = fmt::format(
      "add up inside the NVLink groups first, then across with what is left: Ringside's "
      "hierarchical:groups={} does that, NCCL has no such algorithm inside a box. Jobs that need "
      "few GPUs: sets that NVLink joins (CUDA_VISIBLE_DEVICES={})",
      all_groups(topology, graph), groups_text(topology, graph, ",", " or "));
  found.mend.other_algorithm = true;
  found.decided_by = {Input::collective};
  if (certainty != Certainty::possible) found.explains = {"D12", "D13"};
  for (const auto& matrix : evidence.all<LinkMatrix>())
    add_lines(found.shown, evidence.rows_of(*matrix.reading, matrix->names), 2);
  return found;
}

/// The bus bandwidth of two GPUs that NVLink joins, where that was measured too.
std::optional<BestRow> pair_alone(const Evidence& evidence, const NvlinkGraph& graph) {
  for (const auto& table : evidence.all<CollectiveRows>()) {
    const auto gpus = gpus_of(evidence, *table.facts);
    if (gpus.size() == 2 && is_of_nccl(*table.facts) && graph.links(gpus[0], gpus[1]) > 0)
      if (auto best = best_row(evidence, table)) return best;
  }
  return std::nullopt;
}

std::vector<Diagnosis> by_table(const Evidence& evidence, const NvlinkGraph& graph) {
  const Topology& topology = *evidence.topology();
  for (const auto& table : evidence.all<CollectiveRows>()) {
    if (!is_of_nccl(*table.facts) || !goes_in_rings(*table.facts)) continue;
    const auto gpus = gpus_of(evidence, *table.facts);
    const auto best = best_row(evidence, table);
    const auto link = nvlink_nominal(topology);
    if (!best || !link || !leaves_nvlink(graph, gpus)) continue;
    const int links = most_links(graph, gpus);
    if (best->busbw > clearly_less * links * *link) continue;
    auto found = found_with(evidence, graph, Certainty::certain);
    const auto pair = pair_alone(evidence, graph);
    found.why = fmt::format(
        "NVLink joins {}, but no ring over the {} GPUs that take part ({}) stays in it: the ring "
        "crosses PCIe and goes at its rate, {} GB/s of bus bandwidth (measured)",
        groups_text(topology, graph, "-", ", "), gpus.size(), gpu_names(topology, gpus),
        gb(best->busbw));
    if (pair)
      found.why += fmt::format("; 2 GPUs over NVLink reach {} GB/s (measured)", gb(pair->busbw));
    found.slowdown = (pair ? pair->busbw : links * *link) / best->busbw;
    found.mend.gpus = numbers_at(topology, gpus);
    std::vector<ShownLine> lines = {best->line};
    if (pair) lines.push_back(pair->line);
    add_lines(lines, found.shown);
    found.shown = std::move(lines);
    return {std::move(found)};
  }
  return {};
}

std::vector<Diagnosis> by_log(const Evidence& evidence, const NvlinkGraph& graph) {
  const auto all = all_gpus(graph);
  if (!leaves_nvlink(graph, all)) return {};
  for (const auto& log : evidence.all<NcclLog>())
    for (const auto& [channel, ring] : log->rings) {
      if (ring.size() != all.size() || hosts_of(evidence) > 1) continue;
      auto found = found_with(evidence, graph, Certainty::certain);
      found.why = fmt::format(
          "NVLink joins {}, but NCCL's ring over all {} GPUs crosses PCIe and goes at its rate",
          groups_text(*evidence.topology(), graph, "-", ", "), all.size());
      std::vector<ShownLine> lines = evidence.lines_with(*log.reading, "Channel 00/", 1);
      add_lines(lines, found.shown);
      found.shown = std::move(lines);
      return {std::move(found)};
    }
  return {};
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto* topology = evidence.topology();
  if (topology == nullptr || has_several_boxes(*topology)) return {};
  const NvlinkGraph graph(*topology);
  if (!graph.has_links()) return {};
  auto found = by_table(evidence, graph);
  if (found.empty()) found = by_log(evidence, graph);
  if (!found.empty() || !leaves_nvlink(graph, all_gpus(graph))) return found;
  auto possible = found_with(evidence, graph, Certainty::possible);
  possible.why = fmt::format(
      "NVLink joins {}, but no ring over all {} GPUs stays in it: over all of them NCCL goes at "
      "the rate of PCIe",
      groups_text(*topology, graph, "-", ", "), graph.gpus());
  return {std::move(possible)};
}

}  // namespace

Rule ring_leaves_nvlink_rule() {
  return {
      .id = "D27",
      .title = "The ring leaves NVLink",
      .source = "NVIDIA/nccl-tests#178, #44, NVIDIA/nccl#340, aikitoria/open-gpu-kernel-modules#18",
      .inputs = {Input::topology_matrix, Input::collective, Input::nccl_log},
      .find = find};
}

}  // namespace ringside
