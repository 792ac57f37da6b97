// SPDX-License-Identifier: MIT
/// Finds the plan with the least simulated time among contenders: best first, by the limits that
/// their times cannot be below, until none that is left can be better.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "ringside/collectives/selector/contenders.hpp"

namespace ringside {

/// What a plan's simulation came to.
struct Trial {
  std::size_t contender = 0;  ///< index in Contenders::all()
  int slices = 1;
  double seconds = 0;
  bool complete = false;  ///< else `seconds` is only a lower limit: the twin gave up
  LowerLimit limit;       ///< that it was known to have before
};

/// Simulates a contender with so many slices, giving up after so many (simulated) seconds. Returns
/// the time and whether it is complete.
using Simulator = std::function<std::pair<double, bool>(const Contender&, int slices,
                                                        std::optional<double> give_up_after)>;

struct SearchSettings {
  double tolerance = 0.005;  ///< what can be at most so much better than the best is left out
  double tie = 0.02;         ///< what is at most so much slower than the best is as good
  /// A plan that took so many times its limit is taken to do so with other slices too, which
  /// leaves most of them out. Not so: only what cannot be better is left out.
  bool extrapolate = true;
  bool exhaustive = false;  ///< nothing is left out
};

struct SearchResult {
  Trial best;
  std::vector<Trial> trials;  ///< all, in the order in which they were made
  std::size_t plans = 0;      ///< that there were to choose from, slices counted
};

/// Among those that are as good as the best, the one that spends the least on issuing ops and
/// waiting is taken: what that costs is known the least. Groups that are not the machine's have to
/// be better than that. Throws Error(unsupported) without
/// contenders.
[[nodiscard]] SearchResult search(const Contenders& contenders, const CallSize& size,
                                  const Simulator& simulate, const SearchSettings& settings);

/// The plan of an algorithm that may be the fastest of it, by its limit alone; nothing if it has
/// none.
struct Prospect {
  std::size_t contender = 0;
  int slices = 1;
  LowerLimit limit;
};
[[nodiscard]] std::optional<Prospect> best_prospect(const Contenders& contenders,
                                                    const CallSize& size,
                                                    const std::string& algorithm);

}  // namespace ringside
