// SPDX-License-Identifier: MIT
/// How good the choice of `auto` is: its time against that of the best algorithm forced.
#pragma once

#include <string>
#include <vector>

#include "ringside/bench/intervals.hpp"
#include "ringside/bench/report.hpp"
#include "ringside/bench/sweep.hpp"
#include "ringside/collectives/request.hpp"

namespace ringside::bench {

/// One size and placement.
struct Regret {
  Collective collective = Collective::all_reduce;
  int ranks = 1;
  Placement placement = Placement::out_of_place;
  std::uint64_t bytes = 0;
  std::string best;  ///< the fastest of those forced
  double auto_microseconds = 0, best_microseconds = 0;
  double ratio = 1;   ///< the median of same-round ratios, auto over best
  Interval interval;  ///< of it, 90 %

  /// Whether the rounds tell the two apart.
  [[nodiscard]] bool told() const { return !interval.contains(1); }
  /// Whether they are too few to tell anything: the interval is infinite.
  [[nodiscard]] bool too_few_rounds() const;
};

/// What a report with a series `auto` says; none for rows that auto was not measured in.
[[nodiscard]] std::vector<Regret> regrets_of(const Report& report);

/// Measures: at each size all algorithms with their variants (or those of the request) in short,
/// then the fastest of them and auto again, side by side and for the request's time. So it is not
/// the luckiest of many that auto is compared with. `skipped`: where algorithms that were left
/// out are noted.
[[nodiscard]] std::vector<Regret> measure_regret(const BenchRequest& request,
                                                 const SweepListener& listener,
                                                 std::vector<Skipped>* skipped = nullptr);

/// A line per row, then the median and the worst of those that the rounds tell apart, and of all.
[[nodiscard]] std::string regret_table(const std::vector<Regret>& regrets);

}  // namespace ringside::bench
