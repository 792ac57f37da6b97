// SPDX-License-Identifier: MIT
#include "ringside/topology/diagnose/rules/log_ranks.hpp"

#include <algorithm>
#include <set>

#include "ringside/topology/diagnose/rules/nvlink_graph.hpp"
#include "ringside/topology/diagnose/rules/tables.hpp"

namespace ringside {
namespace {

/// Of each rank the index behind it, else the rank.
std::vector<int> devices_of(const NcclLog& log) {
  std::vector<int> devices;
  for (int rank = 0; rank < log.ranks.value_or(0); ++rank) {
    const auto known = log.devices.find(rank);
    devices.push_back(known == log.devices.end() ? rank : known->second);
  }
  return devices;
}

/// Versions print the driver's index or CUDA's, which counts the visible ones. Where the indices
/// are what the variable lists, they are the driver's.
bool are_of_driver(const std::vector<int>& devices, const std::vector<int>& visible) {
  return devices.size() <= visible.size() &&
         std::equal(devices.begin(), devices.end(), visible.begin());
}

}  // namespace

std::optional<std::vector<int>> gpus_of_ranks(const Evidence& evidence, const NcclLog& log) {
  const auto* topology = evidence.topology();
  if (topology == nullptr || hosts_of(evidence) > 1) return std::nullopt;
  auto gpus = devices_of(log);
  if (const auto places = visible_gpus(evidence)) {
    const auto visible = numbers_at(*topology, *places);
    if (!are_of_driver(gpus, visible))
      for (int& gpu : gpus) {
        if (gpu >= static_cast<int>(visible.size())) return std::nullopt;
        gpu = visible[static_cast<std::size_t>(gpu)];
      }
  } else if (evidence.environment("CUDA_VISIBLE_DEVICES")) {
    return std::nullopt;  // by UUID, or not this machine's
  }
  std::vector<int> places(topology->gpus().size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int>(i);
  const auto all = numbers_at(*topology, places);
  const std::set<int> different(gpus.begin(), gpus.end());
  const bool are_there =
      std::ranges::all_of(gpus, [&](int gpu) { return std::ranges::find(all, gpu) != all.end(); });
  if (!are_there || different.size() != gpus.size()) return std::nullopt;
  return gpus;
}

}  // namespace ringside
