// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <tuple>

#include "ringside/base/error.hpp"

namespace ringside {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// The slices that a contender is tried with first are the fewest whose limit is so near to its
/// least one; and that trial goes on for so much longer than the best took, to tell how far from
/// its limits the contender stays.
constexpr double near = 0.06;
/// With more slices some contenders come nearer to their limits, mostly by no more than this. That
/// is hoped for as long as it costs no more ops: half a second of the twin on 8 GPUs.
constexpr double better_with_more_slices = 0.03;
constexpr std::size_t most_hopeful_ops = 200'000;

/// A plan to come: of a contender with slices, or (0) a contender whose slices are to be looked at.
struct Entry {
  LowerLimit limit;
  std::size_t contender = 0;
  int slices = 0;
  bool fits = false;

  [[nodiscard]] auto key() const { return std::tuple(limit.seconds, !fits, contender, slices); }
};
struct Later {
  bool operator()(const Entry& a, const Entry& b) const { return a.key() > b.key(); }
};
using Queue = std::priority_queue<Entry, std::vector<Entry>, Later>;

class Search {
 public:
  Search(const Contenders& contenders, const CallSize& size, const Simulator& simulate,
         const SearchSettings& settings)
      : contenders_(contenders),
        size_(size),
        simulate_(simulate),
        settings_(settings),
        trials_of_(contenders.all().size()) {}

  SearchResult run() {
    const auto all = contenders_.all();
    for (std::size_t i = 0; i < all.size(); ++i) {
      queue_.push({all[i].mapped->for_any_slices(size_), i, 0, all[i].fits});
      result_.plans += contenders_.slices(all[i], size_).size();
    }
    while (!queue_.empty()) {
      const Entry entry = queue_.top();
      queue_.pop();
      if (!settings_.exhaustive && entry.limit.seconds >= least_ * (1 - settings_.tolerance)) break;
      if (entry.slices == 0)
        expand(entry.contender);
      else if (is_promising(entry))
        attempt(entry, settings_.tie);
    }
    if (result_.trials.empty())
      throw Error(ErrorCode::unsupported, "no algorithm can serve the request");
    result_.best = simplest_of_the_best();
    try_other_slices(result_.best.contender);
    result_.best = simplest_of_the_best();
    return std::move(result_);
  }

 private:
  /// Looks at a contender's slices, and tries some at once: few, which cost little to simulate.
  void expand(std::size_t number) {
    const Contender& contender = contenders_.all()[number];
    std::vector<Entry> entries;
    double least_limit = never;
    for (const int slices : contenders_.slices(contender, size_)) {
      entries.push_back(
          {contenders_.limit(contender, size_, slices), number, slices, contender.fits});
      least_limit = std::min(least_limit, entries.back().limit.seconds);
    }
    if (settings_.extrapolate && !settings_.exhaustive) {
      const auto first = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
        return entry.limit.seconds <= least_limit * (1 + near);
      });
      if (first != entries.end() && first->limit.seconds < least_ * (1 + near)) {
        attempt(*first, near);
        entries.erase(first);
      }
    }
    for (const Entry& entry : entries) queue_.push(entry);
  }

  /// Gives up when it takes so much longer than the best.
  void attempt(const Entry& entry, double longer) {
    std::optional<double> give_up_after;
    if (!settings_.exhaustive && least_ < never) give_up_after = least_ * (1 + longer);
    const auto [seconds, complete] =
        simulate_(contenders_.all()[entry.contender], entry.slices, give_up_after);
    trials_of_[entry.contender].push_back(result_.trials.size());
    result_.trials.push_back({entry.contender, entry.slices, seconds, complete, entry.limit});
    if (complete) least_ = std::min(least_, seconds);
  }

  /// Whether it would be better than the best, took it as many times its limit as the contender did
  /// with the most similar number of slices.
  [[nodiscard]] bool is_promising(const Entry& entry) {
    if (!settings_.extrapolate || settings_.exhaustive) return true;
    const Trial* nearest = nullptr;
    const auto away = [&](const Trial& trial) {
      return std::abs(std::log2(trial.slices) - std::log2(entry.slices));
    };
    for (const std::size_t index : trials_of_[entry.contender]) {
      const Trial& trial = result_.trials[index];
      if (nearest == nullptr || away(trial) < away(*nearest)) nearest = &trial;
    }
    if (nearest == nullptr) return true;
    const double expected = entry.limit.seconds * nearest->seconds / nearest->limit.seconds;
    if (expected < least_) return true;
    const std::size_t ops =
        contenders_.all()[entry.contender].mapped->ops() * static_cast<std::size_t>(entry.slices);
    if (expected >= least_ * (1 + better_with_more_slices) || hopeful_ops_ + ops > most_hopeful_ops)
      return false;
    hopeful_ops_ += ops;
    return true;
  }

  /// Those left out until now that may be as good as the best: fewer are simpler.
  void try_other_slices(std::size_t number) {
    const Contender& contender = contenders_.all()[number];
    for (const int slices : contenders_.slices(contender, size_)) {
      const auto& tried = trials_of_[number];
      const bool known = std::any_of(tried.begin(), tried.end(), [&](std::size_t index) {
        return result_.trials[index].slices == slices;
      });
      if (known) continue;
      const Entry entry{contenders_.limit(contender, size_, slices), number, slices, false};
      if (entry.limit.seconds <= least_ * (1 + settings_.tie)) attempt(entry, settings_.tie);
    }
  }

  [[nodiscard]] Trial simplest_of_the_best() const {
    const Trial* best = nullptr;
    std::tuple<bool, double, bool, std::size_t, int> best_key;
    for (const Trial& trial : result_.trials) {
      if (!trial.complete || trial.seconds > least_ * (1 + settings_.tie)) continue;
      const Contender& contender = contenders_.all()[trial.contender];
      // Groups that are the machine's can be understood, and hold whatever numbers the ranks have.
      const bool strange = contender.algorithm == "hierarchical" && !contender.fits;
      const auto key = std::tuple(strange, Contenders::overhead(contender, trial.slices),
                                  !contender.fits, trial.contender, trial.slices);
      if (best != nullptr && best_key <= key) continue;
      best = &trial;
      best_key = key;
    }
    return *best;
  }

  const Contenders& contenders_;
  const CallSize& size_;
  const Simulator& simulate_;
  const SearchSettings& settings_;
  Queue queue_;
  std::vector<std::vector<std::size_t>> trials_of_;
  double least_ = never;
  std::size_t hopeful_ops_ = 0;
  SearchResult result_;
};

}  // namespace

SearchResult search(const Contenders& contenders, const CallSize& size, const Simulator& simulate,
                    const SearchSettings& settings) {
  return Search(contenders, size, simulate, settings).run();
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
