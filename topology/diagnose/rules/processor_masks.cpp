// SPDX-License-Identifier: MIT
/// D31: ranks are pinned to processors that are the wrong ones or too few.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ringside/base/text.hpp"
#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"
#include "ringside/topology/diagnose/rules/tables.hpp"

namespace ringside {
namespace {

using Cpus = std::set<int>;

/// "ffff,0000ffff": words of 32 processors, the highest first. Empty for anything else.
Cpus parse_cpu_mask(std::string_view text) {
  constexpr int bits = 32, most_words = 256;
  const auto words = split(text, ',');
  if (words.size() > most_words) return {};
  Cpus cpus;
  int word_start = bits * (static_cast<int>(words.size()) - 1);
  for (const auto word : words) {
    if (word.empty() || word.size() > 8) return {};
    int bit = word_start + 4 * static_cast<int>(word.size());
    for (const char c : to_lower(word)) {
      const auto digit = std::string_view("0123456789abcdef").find(c);
      if (digit == std::string_view::npos) return {};
      bit -= 4;
      for (int i = 0; i < 4; ++i)
        if ((digit >> i & 1U) != 0) cpus.insert(bit + i);
    }
    word_start -= bits;
  }
  return cpus;
}

bool is_within(const Cpus& part, const Cpus& whole) { return std::ranges::includes(whole, part); }

/// What lscpu says of a NUMA node.
struct NodeCpus {
  int node = 0;
  Cpus cpus;
  ShownLine line;
};

std::vector<NodeCpus> nodes_of(const Evidence& evidence) {
  std::vector<NodeCpus> nodes;
  constexpr int most_nodes = 256;
  for (int node = 0; node < most_nodes; ++node) {
    const auto list =
        evidence.host_value(HostFactKind::processor, fmt::format("NUMA node{} CPU(s)", node));
    if (!list) continue;
    const auto cpus = parse_cpu_list(list->value);
    if (!cpus.empty()) nodes.push_back({node, {cpus.begin(), cpus.end()}, list->line});
  }
  return nodes;
}

Diagnosis wrong(std::string why, std::vector<ShownLine> lines) {
  Diagnosis found;
  found.certainty = Certainty::certain;
  found.why = std::move(why);
  found.shown = std::move(lines);
  found.fix =
      "correct the affinity masks of the file that NCCL_TOPO_FILE names (or take one made for this "
      "machine type); until then NCCL_IGNORE_CPU_AFFINITY=1 and ranks pinned by numactl";
  found.slowdown = 1.5;
  return found;
}

/// NCCL pins a GPU's threads to processors that the driver does not list for that GPU.
std::vector<Diagnosis> log_against_matrix(const Evidence& evidence) {
  if (evidence.environment("CUDA_VISIBLE_DEVICES") || hosts_of(evidence) > 1) return {};
  for (const auto& matrix : evidence.all<LinkMatrix>())
    for (const auto& log : evidence.all<NcclLog>())
      for (const auto& [gpu, masks] : log->affinity_masks) {
        const std::vector<std::string> name = {fmt::format("GPU{}", gpu)};
        const auto cell = matrix->cpu_affinity.find(name.front());
        if (masks.size() != 1 || cell == matrix->cpu_affinity.end() || !cell->second) continue;
        const auto list = parse_cpu_list(*cell->second);
        const auto mask = parse_cpu_mask(masks.front());
        if (list.empty() || mask.empty() || is_within(mask, {list.begin(), list.end()})) continue;
        auto lines =
            evidence.lines_with(*log.reading, fmt::format("Setting affinity for GPU {} ", gpu), 1);
        add_lines(lines, evidence.rows_of(*matrix.reading, name));
        return {wrong(fmt::format("NCCL pins the threads of GPU{} to the mask {}, which has "
                                  "processors that are not near it: near are {}",
                                  gpu, masks.front(), *cell->second),
                      std::move(lines))};
      }
  return {};
}

void find_cpus(const XmlElement& element, std::vector<const XmlElement*>& found) {
  if (element.tag == "cpu") found.push_back(&element);
  for (const auto& child : element.children) find_cpus(child, found);
}

/// A topology file that gives a NUMA node processors of another.
std::vector<Diagnosis> file_against_host(const Evidence& evidence) {
  for (const auto& file : evidence.all<NcclXml>()) {
    std::vector<const XmlElement*> cpus;
    find_cpus(file->system, cpus);
    for (const auto* cpu : cpus)
      for (const auto& node : nodes_of(evidence)) {
        const auto* id = cpu->attribute("numaid");
        const auto* affinity = cpu->attribute("affinity");
        if (id == nullptr || affinity == nullptr || *id != std::to_string(node.node)) continue;
        const auto mask = parse_cpu_mask(*affinity);
        if (mask.empty() || is_within(mask, node.cpus)) continue;
        std::vector<ShownLine> lines = {node.line};
        if (const auto line = evidence.line(file.reading->source, cpu->line))
          lines.push_back(*line);
        return {wrong(fmt::format("the topology file gives NUMA node {} processors that are not of "
                                  "it (mask {})",
                                  node.node, *affinity),
                      std::move(lines))};
      }
  }
  return {};
}

Diagnosis restricted(Certainty certainty, std::string why) {
  Diagnosis found;
  found.certainty = certainty;
  found.why = std::move(why);
  found.confirm =
      "taskset -cp PID of a rank, and cat /sys/devices/system/node/node*/cpulist: the scheduler or "
      "the container gave fewer processors than the node has";
  found.fix =
      "ask the scheduler for whole cores, several for each GPU (Slurm: --cpus-per-task); "
      "containers: a larger --cpuset-cpus";
  found.slowdown = 1.3;
  found.decided_by = {Input::processors, Input::bound_processors};
  return found;
}

/// `topo -m` lists a few processors only, of those that the node has.
std::vector<Diagnosis> few_processors(const Evidence& evidence) {
  const auto nodes = nodes_of(evidence);
  for (const auto& matrix : evidence.all<LinkMatrix>()) {
    std::map<std::string, std::vector<std::string>> gpus;  // by their list
    for (const auto& [name, cell] : matrix->cpu_affinity)
      if (cell && name.starts_with("GPU")) gpus[*cell].push_back(name);
    for (const auto& [list, names] : gpus) {
      const auto parsed = parse_cpu_list(list);
      const Cpus cpus(parsed.begin(), parsed.end());
      if (cpus.empty()) continue;
      const auto node = std::ranges::find_if(
          nodes, [&](const NodeCpus& each) { return is_within(cpus, each.cpus); });
      const auto rows = evidence.rows_of(*matrix.reading, names);
      if (node != nodes.end() && 2 * cpus.size() <= node->cpus.size()) {
        auto found = restricted(
            Certainty::likely,
            fmt::format(
                "for {} only the processors {} may be used, {} of the {} of their NUMA node",
                join(names, ", "), list, cpus.size(), node->cpus.size()));
        found.shown = {node->line};
        add_lines(found.shown, rows);
        return {std::move(found)};
      }
      if (nodes.empty() && cpus.size() < 2 * names.size()) {
        auto found = restricted(Certainty::possible,
                                fmt::format("{} share the processors {}: fewer than 2 for each",
                                            join(names, ", "), list));
        add_lines(found.shown, rows);
        return {std::move(found)};
      }
    }
  }
  return {};
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  for (const auto look : {log_against_matrix, file_against_host, few_processors})
    if (auto found = look(evidence); !found.empty()) return found;
  return {};
}

}  // namespace

Rule processor_masks_rule() {
  return {.id = "D31",
          .title = "Ranks are pinned to too few or the wrong processors",
          .source = "Azure/azhpc-images#393, NVIDIA/nccl#1017",
          .inputs = {Input::topology_matrix, Input::processors, Input::nccl_log},
          .find = find};
}

}  // namespace ringside
