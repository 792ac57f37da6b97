// SPDX-License-Identifier: MIT
/// D39: two runs share the terminal or the GPUs, so neither's figures count.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ringside/base/text.hpp"
#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/processes.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

constexpr int of_note = 300;  // MiB: a context with something in it

std::vector<Diagnosis> one_terminal(const Evidence& evidence) {
  for (const auto& table : evidence.all<CollectiveRows>()) {
    if (!table->runs_interleaved) continue;
    Diagnosis found;
    found.certainty = Certainty::certain;
    found.harm = Harm::risk;
    found.why =
        "the sizes of the table go back and forth: two runs print into it, so they shared the "
        "machine, and its rates (measured) are of neither";
    std::int64_t before = 0;
    found.shown = evidence.lines(
        *table.reading,
        [&](std::string_view line) {
          const auto words = split_blanks(line);
          const auto size = words.empty() ? std::nullopt : parse_int(words.front());
          const bool goes_back = size && *size < before;
          if (size) before = *size;
          return goes_back;
        },
        3);
    found.fix =
        "one run at a time, each into a file of its own; mpirun: one launch, not one a host";
    found.explains = {"D35", "D41"};
    return {std::move(found)};
  }
  return {};
}

/// Several programs on one GPU while something was measured.
std::vector<Diagnosis> one_gpu(const Evidence& evidence) {
  if (!evidence.has(Input::collective)) return {};
  std::map<int, std::vector<GpuProcess>> on;
  std::map<int, int> gpus;  // of a process
  for (const auto& each : gpu_processes(evidence)) {
    if (each.mib < of_note) continue;
    on[each.gpu].push_back(each);
    ++gpus[each.pid];
  }
  for (const auto& [gpu, processes] : on) {
    std::set<std::string> names;
    for (const auto& each : processes) names.insert(each.name);
    if (processes.size() < 2 || names.size() < 2) continue;
    Diagnosis found;
    found.certainty = Certainty::likely;
    found.harm = Harm::risk;
    found.why = fmt::format(
        "{} processes compute on GPU {}: what was measured meanwhile is what they leave each other",
        processes.size(), gpu);
    for (const auto& each : processes) add_lines(found.shown, {each.line});
    found.confirm = "nvidia-smi shows them during the measurement; without them the rates rise";
    found.fix = "measure on GPUs that nobody else uses";
    found.slowdown = 2;
    return {std::move(found)};
  }
  return {};
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  auto found = one_terminal(evidence);
  return found.empty() ? one_gpu(evidence) : found;
}

}  // namespace

Rule mixed_runs_rule() {
  return {.id = "D39",
          .title = "Two runs share the machine",
          .source = "NVIDIA/nccl-tests#182",
          .inputs = {Input::collective, Input::processes},
          .find = find};
}

}  // namespace ringside
