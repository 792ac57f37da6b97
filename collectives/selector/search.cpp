// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/search.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

#include "ringside/base/error.hpp"

namespace ringside {
namespace {

/// A plan to come: of a contender with slices, or (0) a contender whose slices are to be looked at.
struct Entry {
  LowerLimit limit;
  std::size_t contender = 0;
  int slices = 0;

  [[nodiscard]] auto key() const { return std::tuple(limit.seconds, contender, slices); }
};
struct Later {
  bool operator()(const Entry& a, const Entry& b) const { return a.key() > b.key(); }
};
using Queue = std::priority_queue<Entry, std::vector<Entry>, Later>;

std::size_t sliced_ops(const Contenders& contenders, const Trial& trial) {
  return contenders.all()[trial.contender].mapped->ops() * static_cast<std::size_t>(trial.slices);
}

/// Of the trials within the tie of the least time the one with the fewest ops.
Trial simplest_of_the_best(const Contenders& contenders, const std::vector<Trial>& trials,
                           double least, double tie) {
  const Trial* best = nullptr;
  const auto key = [&](const Trial& trial) {
    return std::tuple(sliced_ops(contenders, trial), trial.contender, trial.slices);
  };
  for (const Trial& trial : trials)
    if (trial.complete && trial.seconds <= least * (1 + tie) &&
        (best == nullptr || key(trial) < key(*best)))
      best = &trial;
  return *best;
}

}  // namespace

SearchResult search(const Contenders& contenders, const CallSize& size, const Simulator& simulate,
                    const SearchSettings& settings) {
  const auto all = contenders.all();
  SearchResult result;
  Queue queue;
  for (std::size_t i = 0; i < all.size(); ++i) {
    queue.push({all[i].mapped->for_any_slices(size), i, 0});
    result.plans += contenders.slices(all[i], size).size();
  }
  double least = std::numeric_limits<double>::infinity();
  while (!queue.empty()) {
    const Entry entry = queue.top();
    queue.pop();
    if (!settings.exhaustive && entry.limit.seconds >= least * (1 - settings.tolerance)) break;
    const Contender& contender = all[entry.contender];
    if (entry.slices == 0) {
      for (const int slices : contenders.slices(contender, size))
        queue.push({contenders.limit(contender, size, slices), entry.contender, slices});
      continue;
    }
    const auto give_up = settings.exhaustive || least == std::numeric_limits<double>::infinity()
                             ? std::nullopt
                             : std::optional(least * (1 + settings.tie));
    const auto [seconds, complete] = simulate(contender, entry.slices, give_up);
    result.trials.push_back({entry.contender, entry.slices, seconds, complete, entry.limit});
    if (complete) least = std::min(least, seconds);
  }
  if (result.trials.empty())
    throw Error(ErrorCode::unsupported, "no algorithm can serve the request");
  result.best = simplest_of_the_best(contenders, result.trials, least, settings.tie);
  return result;
}

std::optional<Prospect> best_prospect(const Contenders& contenders, const CallSize& size,
                                      const std::string& algorithm) {
  const auto all = contenders.all();
  Queue queue;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].algorithm == algorithm) queue.push({all[i].mapped->for_any_slices(size), i, 0});
  while (!queue.empty()) {
    const Entry entry = queue.top();
    queue.pop();
    if (entry.slices > 0) return Prospect{entry.contender, entry.slices, entry.limit};
    const Contender& contender = all[entry.contender];
    for (const int slices : contenders.slices(contender, size))
      queue.push({contenders.limit(contender, size, slices), entry.contender, slices});
  }
  return std::nullopt;
}

}  // namespace ringside
