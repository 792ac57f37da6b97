// SPDX-License-Identifier: MIT
/// D36: GPU 0 does the others' work as well: DataParallel, or ranks that did not choose their GPU.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "ringside/base/text.hpp"
#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/processes.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

constexpr double clearly_more = 1.5;

using ByGpu = std::map<int, GpuProcess>;  // of one process

std::map<int, ByGpu> by_process(const std::vector<GpuProcess>& processes) {
  std::map<int, ByGpu> found;
  for (const auto& each : processes) found[each.pid].emplace(each.gpu, each);
  return found;
}

/// Processes that work on another GPU and have a small context on GPU 0.
std::vector<GpuProcess> strays(const std::map<int, ByGpu>& processes) {
  std::vector<GpuProcess> found;
  for (const auto& [pid, on] : processes) {
    const auto first = on.find(0);
    if (first == on.end() || on.size() != 2) continue;
    if (2 * first->second.mib < on.rbegin()->second.mib) found.push_back(first->second);
  }
  return found;
}

std::vector<Diagnosis> missing_set_device(const std::vector<GpuProcess>& stray) {
  if (stray.size() < 2) return {};
  Diagnosis found;
  found.certainty = Certainty::certain;
  found.why = fmt::format(
      "{} processes that work on other GPUs have a context on GPU 0 too, which takes its memory "
      "and time: they did not choose their GPU before their first CUDA call",
      stray.size());
  for (const auto& each : stray) add_lines(found.shown, {each.line});
  found.fix =
      "torch.cuda.set_device(local_rank) before the first CUDA call, and map_location when a "
      "checkpoint is loaded";
  found.slowdown = 1.2;
  return {std::move(found)};
}

/// One process on all GPUs, with much more on the first.
std::vector<Diagnosis> data_parallel(const std::map<int, ByGpu>& processes) {
  for (const auto& [pid, on] : processes) {
    if (on.size() < 2 || !on.contains(0) || on.at(0).name.find("python") == std::string::npos)
      continue;
    int most = 0;
    for (const auto& [gpu, process] : on)
      if (gpu != 0) most = std::max(most, process.mib);
    if (on.at(0).mib < clearly_more * most) continue;
    Diagnosis found;
    found.certainty = Certainty::likely;
    found.why = fmt::format(
        "one process has all {} GPUs, with {} MiB on GPU 0 and at most {} MiB on the others "
        "(measured): GPU 0 gathers the outputs and the gradients of all, as DataParallel does",
        on.size(), on.at(0).mib, most);
    for (const auto& [gpu, process] : on) add_lines(found.shown, {process.line});
    found.confirm = "the script uses torch.nn.DataParallel; the other GPUs idle in between";
    found.fix =
        "torch.nn.parallel.DistributedDataParallel with one process for each GPU (torchrun)";
    found.slowdown = 1.5;
    return {std::move(found)};
  }
  return {};
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto processes = by_process(gpu_processes(evidence));
  auto found = missing_set_device(strays(processes));
  return found.empty() ? data_parallel(processes) : found;
}

}  // namespace

Rule overloaded_gpu_rule() {
  return {.id = "D36",
          .title = "GPU 0 has the others' work as well",
          .source =
              "pytorch/pytorch#17209, princeton-vl/RAFT#33, facebookresearch/DPR#104, "
              "facebookresearch/mmf#190",
          .inputs = {Input::processes},
          .find = find};
}

}  // namespace ringside
