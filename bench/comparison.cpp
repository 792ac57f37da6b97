// SPDX-License-Identifier: MIT
#include "ringside/bench/comparison.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "ringside/base/statistics.hpp"

namespace ringside::bench {

std::vector<double> round_ratios(const Timing& timing, const Timing& base) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(timing.round_times.size(), base.round_times.size()); ++i)
    ratios.push_back(timing.round_times[i] / base.round_times[i]);
  return ratios;
}

double speedup(const Timing& ours, const Timing& peer) {
  const auto ratios = round_ratios(peer, ours);
  return ratios.empty() ? std::numeric_limits<double>::quiet_NaN() : median(ratios);
}

const Contest::Entry* best_peer(const Contest& contest) {
  const Contest::Entry* best = nullptr;
  const auto factor = [&](const Contest::Entry& peer) {
    return speedup(*contest.ours.front().timing, *peer.timing);
  };
  for (const auto& peer : contest.peers)
    if (!peer.series->baseline && (best == nullptr || factor(peer) < factor(*best))) best = &peer;
  return best;
}

std::vector<Contest> contests(const Report& report) {
  std::vector<Contest> all;
  const auto find = [&](const Series& series, const Row& row, Placement placement) -> Contest& {
    for (auto& contest : all)
      if (contest.collective == series.collective && contest.ranks == series.ranks &&
          contest.placement == placement && contest.type == row.type && contest.op == row.op &&
          contest.asked == row.asked && contest.bytes == row.bytes)
        return contest;
    all.push_back({.collective = series.collective,
                   .root = series.root,
                   .ranks = series.ranks,
                   .placement = placement,
                   .type = row.type,
                   .op = row.op,
                   .asked = row.asked,
                   .bytes = row.bytes,
                   .ours = {},
                   .peers = {}});
    return all.back();
  };
  for (const auto& series : report.series)
    for (const auto& row : series.rows)
      for (const auto placement : placements) {
        const auto& timing = row.at(placement);
        if (!timing) continue;
        Contest& contest = find(series, row, placement);
        if (series.peer)
          contest.peers.push_back({&series, &*timing});
        else
          contest.ours.push_back({&series, &*timing});
      }
  std::erase_if(all, [](const Contest& contest) { return contest.ours.empty(); });
  for (auto& contest : all)
    std::stable_sort(contest.ours.begin(), contest.ours.end(),
                     [](const auto& a, const auto& b) { return a.timing->time < b.timing->time; });
  const auto place = [](const auto& list, auto value) {
    return std::find(list.begin(), list.end(), value) - list.begin();
  };
  const auto key = [&](const Contest& contest) {
    return std::make_tuple(place(report.request.collectives, contest.collective),
                           place(report.request.ranks, contest.ranks), contest.type, contest.op,
                           contest.placement, contest.asked, contest.bytes);
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Contest& a, const Contest& b) { return key(a) < key(b); });
  return all;
}

}  // namespace ringside::bench
