// SPDX-License-Identifier: MIT
/// D16: a process runs on processors that are far from its GPUs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "ringside/base/text.hpp"
#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

constexpr double clearly_slower = 0.6;

/// Processors near each GPU, as `topo -m` lists them.
std::map<std::string, std::set<int>> cpus_by_gpu(const Evidence& evidence) {
  std::map<std::string, std::set<int>> near;
  for (const auto& matrix : evidence.all<LinkMatrix>())
    for (const auto& [name, cell] : matrix->cpu_affinity)
      if (cell && name.starts_with("GPU")) {
        const auto cpus = parse_cpu_list(*cell);
        if (!cpus.empty()) near[name] = {cpus.begin(), cpus.end()};
      }
  return near;
}

/// The GPUs that the process uses, as far as CUDA_VISIBLE_DEVICES tells: else all.
std::vector<std::string> used_gpus(const Evidence& evidence,
                                   const std::map<std::string, std::set<int>>& near) {
  std::vector<std::string> names;
  if (const auto visible = evidence.environment("CUDA_VISIBLE_DEVICES"))
    for (const int gpu : parse_cpu_list(visible->value)) names.push_back(fmt::format("GPU{}", gpu));
  std::erase_if(names, [&](const std::string& name) { return !near.contains(name); });
  if (names.empty())
    for (const auto& [name, cpus] : near) names.push_back(name);
  return names;
}

std::vector<Diagnosis> bound_elsewhere(const Evidence& evidence) {
  const auto near = cpus_by_gpu(evidence);
  if (near.empty()) return {};
  const auto gpus = used_gpus(evidence, near);
  for (const auto& list : evidence.host(HostFactKind::allowed_cpus, "list")) {
    const auto allowed = parse_cpu_list(list.value);
    const bool meets = std::ranges::any_of(gpus, [&](const std::string& gpu) {
      return std::ranges::any_of(allowed, [&](int cpu) { return near.at(gpu).contains(cpu); });
    });
    if (allowed.empty() || meets) continue;
    Diagnosis found;
    found.certainty = Certainty::certain;
    found.why = fmt::format(
        "the process may run on processors {} only, and none of these is near {}: what it stages "
        "for "
        "them crosses between sockets",
        list.value, fmt::join(gpus, ", "));
    found.shown = {list.line};
    for (const auto& matrix : evidence.all<LinkMatrix>())
      add_lines(found.shown, evidence.rows_of(*matrix.reading, gpus));
    found.fix =
        "numactl --cpunodebind=NODE --membind=NODE with the node in the GPU's row of "
        "nvidia-smi topo -m; allocate staging buffers after that";
    found.slowdown = 3;  // 12.1 -> 3.8 GB/s at the source
    return {std::move(found)};
  }
  return {};
}

/// One GPU's copies to and from the host are far slower than the others'.
std::vector<Diagnosis> slow_host_copies(const Evidence& evidence) {
  std::map<int, double> rate;
  for (const auto& pair : evidence.measured.pairs) {
    const bool up = pair.to == host_memory && pair.from != host_memory;
    if (!up || pair.quantity != MeasuredQuantity::bandwidth ||
        pair.traffic != MeasuredTraffic::one_way)
      continue;
    rate.try_emplace(pair.from, pair.value);
  }
  if (rate.size() < 3) return {};
  const auto slowest =
      std::ranges::min_element(rate, {}, [](const auto& each) { return each.second; });
  double others = 1e300;
  for (const auto& [gpu, value] : rate)
    if (gpu != slowest->first) others = std::min(others, value);
  if (slowest->second > clearly_slower * others) return {};
  Diagnosis found;
  found.certainty = Certainty::possible;
  found.why = fmt::format(
      "GPU{} copies {} GB/s to the host, the others at least {} GB/s (measured): a "
      "buffer on another node, or a narrow slot",
      slowest->first, gb(slowest->second), gb(others));
  found.confirm =
      "repeat with numactl --membind on the GPU's node: as fast as the others then; if "
      "not, look at the slot (nvidia-smi -q, Link Width)";
  found.fix = "allocate its buffers on the GPU's node, once the check confirms it";
  found.slowdown = others / slowest->second;
  found.decided_by = {Input::pcie_links, Input::bound_processors};
  return {std::move(found)};
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  auto found = bound_elsewhere(evidence);
  return found.empty() ? slow_host_copies(evidence) : found;
}

}  // namespace

Rule wrong_node_rule() {
  return {.id = "D16",
          .title = "The process runs far from its GPUs",
          .source =
              "mpicbg-scicomp/gearshifft#82, NVIDIA/go-gpuallocator#17, "
              "vllm-project/vllm#1838, NVIDIA/nccl#1017",
          .inputs = {Input::bound_processors, Input::topology_matrix, Input::host_bandwidth},
          .find = find};
}

}  // namespace ringside
