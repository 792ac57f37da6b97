// SPDX-License-Identifier: MIT
/// D13: without peer access two GPUs behind one switch are slower than two behind different ones:
/// their data go up and come down the same link.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

constexpr double clearly_slower = 0.85;

bool below_one_switch(const GpuPair& pair) {
  return !pair.fabric && pair.pcie.decided() &&
         (pair.pcie.value == LinkClass::pix || pair.pcie.value == LinkClass::pxb);
}
bool apart(const GpuPair& pair) {
  return !pair.fabric && pair.pcie.decided() && pair.pcie.value > LinkClass::pxb;
}

/// An order in which as few neighbours as can be are below one switch: one GPU of each switch in
/// turn.
std::vector<int> alternating_order(const std::vector<GpuPair>& pairs) {
  std::map<int, std::vector<int>> groups;  // by the lowest number in them
  std::map<int, int> group_of;
  for (const auto& pair : pairs) {
    group_of.try_emplace(pair.first, pair.first);
    group_of.try_emplace(pair.second, pair.second);
    if (below_one_switch(pair)) group_of[pair.second] = group_of[pair.first];
  }
  for (const auto& [gpu, group] : group_of) groups[group].push_back(gpu);
  std::vector<int> order;
  for (std::size_t turn = 0; order.size() < group_of.size(); ++turn)
    for (const auto& [group, members] : groups)
      if (turn < members.size()) order.push_back(members[turn]);
  return order;
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto pairs = gpu_pairs(evidence);
  const auto staging = staging_of(evidence);
  const auto peers = [&]() -> std::optional<bool> {
    if (mean_measured(evidence, pairs, false, below_one_switch)) return false;
    if (staging) return std::nullopt;  // then whatever was measured went through the host
    // The same where "P2P=Enabled" was measured without it, which that test does not tell.
    const auto near = std::ranges::find_if(pairs, below_one_switch);
    if (near != pairs.end() && peer_access_possible(evidence, *near) != true) return std::nullopt;
    return true;
  }();
  if (peers == true) return {};
  const auto near = mean_measured(evidence, pairs, peers, below_one_switch);
  const auto far = mean_measured(evidence, pairs, peers, apart);
  if (!near || !far || *near > clearly_slower * *far) return {};
  Diagnosis found;
  // Figures with peer access switched off say nothing of what runs where it is on.
  found.certainty = staging ? Certainty::certain : Certainty::possible;
  found.why = fmt::format(
      "through the host, GPUs below one switch copy {} GB/s to each other, GPUs below different "
      "ones "
      "{} GB/s (means, measured): data of the former go up and come down the same link",
      gb(*near), gb(*far));
  if (staging) found.shown = staging->lines;
  if (!staging && !peers)
    found.why +=
        ". That holds if the GPUs have no peer access, which no input tells; with it, ACS is the "
        "cause (D01)";
  found.mend.as_is = {"p2p=off"};
  found.mend.mended = {"p2p=off"};  // the cure leaves that as it is
  found.mend.ring_order = alternating_order(pairs);
  found.confirm =
      "nvidia-smi topo -p2p r shows no peer access; the collective is faster with the "
      "GPUs in the other order (CUDA_VISIBLE_DEVICES)";
  found.fix = fmt::format(
      "a ring whose neighbours are below different switches, the opposite of what is best with "
      "peer "
      "access: CUDA_VISIBLE_DEVICES={}",
      fmt::join(found.mend.ring_order, ","));
  found.slowdown = *far / *near;
  found.decided_by = {Input::peer_matrix, Input::nccl_log};
  return {std::move(found)};
}

}  // namespace

Rule shared_uplink_staging_rule() {
  return {.id = "D13",
          .title = "Without peer access neighbours below one switch are the slow ones",
          .source = "NVIDIA/nccl#1127, NVIDIA/nccl#1086, NVIDIA/nccl#1309, dmlc/dgl#5469",
          .inputs = {Input::pair_bandwidth, Input::topology_matrix, Input::peer_matrix},
          .find = find};
}

}  // namespace ringside
