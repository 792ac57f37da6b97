// SPDX-License-Identifier: MIT
/// D09: copies with peer access are slower than those through the host's memory.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ringside/topology/diagnose/rules.hpp"
#include "ringside/topology/diagnose/rules/shared.hpp"

namespace ringside {
namespace {

/// What measurements of the same path differ by is less.
constexpr double clearly_slower = 0.8;

/// With peer access and without, one way in one direction: GB/s.
struct Rates {
  double on = 0, off = 0;
  [[nodiscard]] bool slower() const { return on <= clearly_slower * off; }
  [[nodiscard]] double ratio() const { return on / off; }
};

std::vector<Rates> rates_of(const Evidence& evidence, const GpuPair& pair) {
  std::vector<Rates> rates;
  for (const auto& [from, to] : {std::pair(pair.first, pair.second), {pair.second, pair.first}}) {
    const auto on = measured_one_way(evidence.measured, from, to, true),
               off = measured_one_way(evidence.measured, from, to, false);
    if (on && off && *off > 0) rates.push_back({*on, *off});
  }
  return rates;
}

struct Compared {
  int slower = 0, compared = 0;
  /// By how near they are: pairs that were measured, and those slower in each direction.
  std::map<LinkClass, std::pair<int, int>> by_class;
  Rates worst = {1, 1};
  std::string where;

  /// A single value may be noise; it shows in each direction of most pairs of a class.
  [[nodiscard]] bool is_sure() const {
    return std::ranges::any_of(by_class, [](const auto& each) {
      const auto& [measured, slow] = each.second;
      return slow > 0 && 2 * slow >= measured;
    });
  }
};

Compared compare(const Evidence& evidence) {
  Compared all;
  for (const auto& pair : gpu_pairs(evidence)) {
    const auto rates = rates_of(evidence, pair);
    if (pair.fabric || rates.empty() || peer_access_possible(evidence, pair) == false) continue;
    auto& [measured, slow] = all.by_class[pair.pcie.value];
    ++all.compared;
    ++measured;
    if (std::ranges::none_of(rates, &Rates::slower)) continue;
    ++all.slower;
    if (std::ranges::all_of(rates, &Rates::slower)) ++slow;
    const auto worst = *std::ranges::min_element(rates, {}, &Rates::ratio);
    if (worst.ratio() >= all.worst.ratio()) continue;
    all.worst = worst;
    all.where = pair.names;
  }
  return all;
}

std::vector<Diagnosis> find(const Evidence& evidence) {
  const auto all = compare(evidence);
  if (all.slower == 0) return {};
  Diagnosis found;
  found.certainty = all.is_sure() ? Certainty::certain : Certainty::possible;
  found.why = fmt::format(
      "{} of {} pairs that were measured both ways are slower with peer access than without; "
      "worst: {}, {} GB/s with, {} GB/s without (measured){}",
      all.slower, all.compared, all.where, gb(all.worst.on), gb(all.worst.off),
      all.is_sure() ? "" : ": few values of pairs linked alike, so measure again");
  found.confirm = "the collective gets faster with NCCL_P2P_DISABLE=1";
  found.fix =
      "use peer access only where it is the faster way: NCCL_P2P_LEVEL=PHB (or NODE) for the job "
      "keeps it within a socket, NCCL_P2P_DISABLE=1 switches it off. On EPYC also try NPS4 in the "
      "BIOS, if the check above confirms it";
  found.slowdown = 1 / all.worst.ratio();
  return {std::move(found)};
}

}  // namespace

Rule slow_peer_access_rule() {
  return {.id = "D09",
          .title = "Peer access is slower than going through the host",
          .source = "NVIDIA/nccl#814, NVIDIA/nccl-tests#74, tinygrad/open-gpu-kernel-modules#17",
          .inputs = {Input::pair_bandwidth, Input::topology_matrix},
          .find = find};
}

}  // namespace ringside
