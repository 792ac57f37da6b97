// SPDX-License-Identifier: MIT
/// D17: one GPU is alone on its NUMA node, so every ring crosses between sockets for it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ringside/base/text.hpp"
#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

/// GPUs by their numbers, with those that are nearer than SYS together. Empty where some pair is
/// joined by NVLink or not decided.
std::vector<std::set<int>> groups_of(const std::vector<GpuPair>& pairs) {
  std::map<int, std::set<int>> near;
  for (const auto& pair : pairs) {
    if (pair.fabric || !pair.pcie.decided() || pair.pcie.value == LinkClass::network ||
        pair.pcie.value == LinkClass::unreachable)
      return {};
    near[pair.first].insert(pair.first);
    near[pair.second].insert(pair.second);
    if (pair.pcie.value == LinkClass::sys) continue;
    near[pair.first].insert(pair.second);
    near[pair.second].insert(pair.first);
  }
  std::vector<std::set<int>> groups;
  for (const auto& [gpu, group] : near)
    if (std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
  return groups;
}

/// Both GPUs list the same processors: then SYS says little of where they sit.
bool share_processors(const Evidence& evidence, int first, int second) {
  for (const auto& matrix : evidence.all<LinkMatrix>()) {
    const auto a = matrix->cpu_affinity.find(fmt::format("GPU{}", first));
    const auto b = matrix->cpu_affinity.find(fmt::format("GPU{}", second));
    if (a != matrix->cpu_affinity.end() && b != matrix->cpu_affinity.end() && a->second &&
        b->second && !a->second->empty() && *a->second == *b->second)
      return true;
  }
  return false;
}

/// As lscpu states it; 0 where nothing does.
int sockets_of(const Evidence& evidence) {
  const auto stated = evidence.host_value(HostFactKind::processor, "Socket(s)");
  return static_cast<int>(parse_int(stated ? stated->value : "", 1, 1024).value_or(0));
}

std::string why_alone(int gpu, std::size_t others, int sockets) {
  if (sockets >= 2)
    return fmt::format(
        "GPU{} is alone on its socket, the other {} are together on the other: every ring crosses "
        "between the sockets twice",
        gpu, others);
  if (sockets == 1)
    return fmt::format(
        "GPU{} is alone on its NUMA node, the other {} are together on another of the same socket: "
        "every ring crosses between the nodes twice, which costs less than between sockets",
        gpu, others);
  return fmt::format(
      "GPU{} is SYS from the other {}, which are together: it is alone on its socket or, where a "
      "socket has several, on its NUMA node; every ring crosses there twice",
      gpu, others);
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto groups = groups_of(gpu_pairs(evidence));
  if (groups.size() != 2) return {};
  const auto& lone = groups[0].size() == 1 ? groups[0] : groups[1];
  const auto& rest = groups[0].size() == 1 ? groups[1] : groups[0];
  if (lone.size() != 1 || rest.size() < 2) return {};
  const int gpu = *lone.begin();
  const bool doubtful = share_processors(evidence, gpu, *rest.begin());
  const int sockets = sockets_of(evidence);
  Diagnosis found;
  found.certainty = doubtful || sockets < 2 ? Certainty::possible : Certainty::certain;
  found.why = doubtful ? fmt::format(
                             "GPU{} is SYS from the other {}, but all list the same processors: "
                             "the firmware may not tell where it sits",
                             gpu, rest.size())
                       : why_alone(gpu, rest.size(), sockets);
  found.confirm =
      "cat /sys/bus/pci/devices/*/numa_node of the GPUs, and the manual of the board; "
      "copies between pairs are slower with this GPU than without";
  found.decided_by = {Input::pair_bandwidth};
  if (sockets == 0) found.decided_by.push_back(Input::processors);
  const std::vector<std::string> name = {fmt::format("GPU{}", gpu)};
  for (const auto& matrix : evidence.all<LinkMatrix>())
    add_lines(found.shown, evidence.rows_of(*matrix.reading, name));
  found.fix = fmt::format(
      "move the card to a slot of the {} that the others are on, or train on the other {}: the sum "
      "over {} may be faster than over {}. Otherwise see to it that rings enter and leave it once",
      sockets == 1 ? "NUMA node" : "socket", rest.size(), rest.size(), rest.size() + 1);
  found.mend.mended = {fmt::format("remove:GPU{}", gpu)};
  return {std::move(found)};
}

}  // namespace

Rule lone_gpu_rule() {
  return {.id = "D17",
          .title = "One GPU is alone on its socket or NUMA node",
          .source = "NVIDIA/nccl#428, public file 57509748144, noonghunna/club-3090#46",
          .inputs = {Input::topology_matrix},
          .find = find};
}

}  // namespace ringside
