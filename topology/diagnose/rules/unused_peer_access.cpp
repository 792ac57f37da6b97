// SPDX-License-Identifier: MIT
/// D10: peer access works, but NCCL does not use it.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/log_ranks.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

constexpr double clearly_faster = 1.15;

using Ends = std::set<std::pair<int, int>>;

/// GPUs between which NCCL stages, both ways round; nothing where the log does not tell.
std::optional<Ends> staged_pairs(const Evidence& evidence) {
  Ends staged;
  for (const auto& log : evidence.all<NcclLog>()) {
    const auto gpus = gpus_of_ranks(evidence, *log.facts);
    for (const auto& [transport, connections] : log->connections) {
      if (!transport.starts_with("SHM")) continue;
      if (!gpus || connections.empty()) return std::nullopt;
      for (const auto& [from, to] : connections) {
        const int first = gpus->at(static_cast<std::size_t>(from)),
                  second = gpus->at(static_cast<std::size_t>(to));
        staged.insert({first, second});
        staged.insert({second, first});
      }
    }
  }
  return staged;
}

/// Pairs of which the driver says that they reach each other over PCIe, and that NCCL stages.
std::vector<GpuPair> judged_pairs(const Evidence& evidence, const std::optional<Ends>& staged) {
  auto pairs = gpu_pairs(evidence);
  std::erase_if(pairs, [&](const GpuPair& pair) {
    return pair.fabric || pair.status != "OK" ||
           (staged && !staged->contains({pair.first, pair.second}));
  });
  return pairs;
}

struct Gain {
  double with = 0, without = 0;
};

/// The pair that gains most by peer access, as measured.
std::optional<Gain> measured_gain(const Evidence& evidence, const std::vector<GpuPair>& pairs) {
  std::optional<Gain> best;
  for (const auto& pair : pairs) {
    const auto on = measured_pair(evidence, pair, true), off = measured_pair(evidence, pair, false);
    if (!on || !off || !(*off > 0)) continue;
    if (!best || *on / *off > best->with / best->without) best = Gain{*on, *off};
  }
  return best;
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  if (connections_via(evidence, "SHM") == 0) return {};
  const auto staged = staged_pairs(evidence);
  const auto pairs = judged_pairs(evidence, staged);
  if (pairs.empty()) return {};
  const auto gain = measured_gain(evidence, pairs);
  if (gain && gain->with < clearly_faster * gain->without) return {};  // it would win nothing
  const auto set = evidence.environment("NCCL_P2P_DISABLE"),
             level = evidence.environment("NCCL_P2P_LEVEL");
  Diagnosis found;
  found.certainty = gain && staged ? Certainty::certain : Certainty::likely;
  found.why = fmt::format(
      "the driver lets GPUs reach each other ({} pairs over PCIe), but NCCL goes through shared "
      "memory{}",
      pairs.size(),
      gain ? fmt::format("; a pair copies {} GB/s with peer access, {} GB/s without (measured)",
                         gb(gain->with), gb(gain->without))
           : "");
  found.shown = lines_via(evidence, "SHM");
  for (const auto& variable : {set, level})
    if (variable) found.shown.insert(found.shown.begin(), variable->line);
  found.confirm =
      "with NCCL_P2P_LEVEL=SYS the log says \"via P2P\", and nccl-tests counts nothing "
      "wrong";
  found.fix = switched_on(evidence, "NCCL_P2P_DISABLE")
                  ? "unset NCCL_P2P_DISABLE for the job; where GPUs are far apart also set "
                    "NCCL_P2P_LEVEL=SYS"
                  : "set NCCL_P2P_LEVEL=SYS for the job: by default NCCL uses peer access only up "
                    "to a distance "
                    "that depends on the processor's maker. On dual EPYC Turin also "
                    "NCCL_MIN_NCHANNELS=8";
  if (connections_via(evidence, "P2P") == 0) found.mend.as_is = {"p2p=off"};
  found.slowdown = gain ? gain->with / gain->without : 1.3;  // 30.3 -> 39.3 GB/s at the source
  found.decided_by = {Input::pair_bandwidth};
  found.explains = {"D12"};
  return {std::move(found)};
}

}  // namespace

Rule unused_peer_access_rule() {
  return {.id = "D10",
          .title = "NCCL does not use peer access that works",
          .source = "voipmonitor/rtx6kpro, NVIDIA/nccl PR 2080",
          .inputs = {Input::nccl_log, Input::peer_matrix, Input::pair_bandwidth},
          .find = find};
}

}  // namespace ringside
