// SPDX-License-Identifier: MIT
#include "ringside/bench/regret.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ringside/base/error.hpp"
#include "ringside/base/statistics.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/algorithm_subject.hpp"
#include "ringside/bench/comparison.hpp"
#include "ringside/bench/tune.hpp"

namespace ringside::bench {
namespace {

constexpr std::string_view automatic = "auto";
constexpr int trial_rounds = 2;
constexpr int least_final_rounds = 9;
constexpr double trial_share = 0.2;  // of the time that an algorithm gets in the end
constexpr std::size_t finalists = 3;

/// The row of a series for one type, operator and size.
const Row* same_row(const Series& series, const Row& row) {
  for (const auto& candidate : series.rows)
    if (candidate.type == row.type && candidate.op == row.op && candidate.asked == row.asked &&
        candidate.bytes == row.bytes)
      return &candidate;
  return nullptr;
}

Regret regret_against(const Timing& of_auto, const Timing& best) {
  const auto ratios = round_ratios(of_auto, best);
  Regret regret;
  regret.auto_microseconds = of_auto.time;
  regret.best_microseconds = best.time;
  regret.ratio = median(ratios);
  regret.interval = median_interval(ratios, 0.9);
  return regret;
}

/// The fastest of a report in either placement.
std::vector<std::string> fastest(const Report& report) {
  std::vector<std::string> labels;
  for (const auto placement : placements) {
    std::vector<std::pair<double, std::string>> times;
    for (const auto& series : report.series)
      for (const auto& row : series.rows)
        if (const auto& timing = row.at(placement)) times.emplace_back(timing->time, series.label);
    std::sort(times.begin(), times.end());
    for (std::size_t i = 0; i < std::min(finalists, times.size()); ++i)
      if (std::find(labels.begin(), labels.end(), times[i].second) == labels.end())
        labels.push_back(times[i].second);
  }
  return labels;
}

std::string summary_line(std::string_view what, std::vector<double> ratios) {
  if (ratios.empty()) return fmt::format("{}: none\n", what);
  return fmt::format("{}: {} rows, median regret {:.1f} %, worst {:.1f} %\n", what, ratios.size(),
                     100 * (median(ratios) - 1), 100 * (maximum(ratios) - 1));
}

}  // namespace

std::vector<Regret> regrets_of(const Report& report) {
  std::vector<Regret> regrets;
  for (const auto& series : report.series) {
    if (series.label != automatic) continue;
    for (const auto& row : series.rows)
      for (const auto placement : placements) {
        const auto& of_auto = row.at(placement);
        if (!of_auto) continue;
        const Timing* best = nullptr;
        std::string label;
        for (const auto& other : report.series) {
          if (other.label == automatic || other.peer || other.ranks != series.ranks ||
              other.collective != series.collective)
            continue;
          const Row* same = same_row(other, row);
          if (same == nullptr || !same->at(placement)) continue;
          if (best != nullptr && same->at(placement)->time >= best->time) continue;
          best = &*same->at(placement);
          label = other.label;
        }
        if (best == nullptr) continue;
        Regret regret = regret_against(*of_auto, *best);
        regret.collective = series.collective;
        regret.ranks = series.ranks;
        regret.placement = placement;
        regret.bytes = row.bytes;
        regret.best = label;
        regrets.push_back(std::move(regret));
      }
  }
  return regrets;
}

bool Regret::too_few_rounds() const { return std::isinf(interval.high); }

std::vector<Regret> measure_regret(const BenchRequest& request, const SweepListener& listener,
                                   std::vector<Skipped>* skipped) {
  const auto sizes = sizes_of(request.sizes);
  const auto& collectives = request.collectives;
  std::vector<Regret> all;
  std::size_t done = 0;
  for (const Collective collective : collectives)
    for (const int ranks : request.ranks)
      for (const auto size : sizes) {
        listener.progress(
            done++, collectives.size() * request.ranks.size() * sizes.size(),
            fmt::format("{}, {} ranks, {}", to_string(collective), ranks, format_bytes(size)));
        BenchRequest one = request;
        one.collectives = {collective};
        one.ranks = {ranks};
        one.sizes = {.begin = size, .end = size};
        one.check = false;
        one.watch = false;
        std::erase(one.algorithms, automatic);
        if (one.algorithms.empty())
          one.algorithms =
              tuning_candidates(collective, ranks, true, size == sizes.front() ? skipped : nullptr);
        // Of those named, each serves some of several collectives.
        if (collectives.size() > 1)
          std::erase_if(one.algorithms, [&](const std::string& spec) {
            return refusal_of(spec, {collective, ranks, request.root, false}).has_value();
          });
        if (one.algorithms.empty()) continue;
        one.rounds = trial_rounds;
        one.time = request.time * trial_share;
        one.algorithms = fastest(run_sweep(one));
        one.algorithms.emplace_back(automatic);
        one.rounds = std::max(request.rounds, least_final_rounds);
        one.time = request.time;
        for (auto& regret : regrets_of(run_sweep(one))) all.push_back(std::move(regret));
      }
  if (all.empty())
    throw Error(ErrorCode::unsupported,
                "none of the algorithms serves any of the collectives and ranks");
  return all;
}

std::string regret_table(const std::vector<Regret>& regrets) {
  std::string text =
      "# measured: microseconds a call of auto and of the fastest algorithm forced, and auto's "
      "over "
      "its\n# time (median of same-round ratios, 90 % interval); differs: the interval excludes "
      "1\n";
  std::vector<double> told, all;
  for (const auto& regret : regrets) {
    text += fmt::format(
        "{:<14} {:>2} ranks  {:>8}  {:<12}  {:>11.3f} {:>11.3f}  {:.3f} {} {}  {}\n",
        to_string(regret.collective), regret.ranks, format_bytes(regret.bytes),
        to_string(regret.placement), regret.auto_microseconds, regret.best_microseconds,
        regret.ratio,
        regret.too_few_rounds()
            ? "(too few rounds)"
            : fmt::format("({:.3f} to {:.3f})", regret.interval.low, regret.interval.high),
        regret.told() ? "differs" : "       ", regret.best);
    // Faster than the best is the noise's doing, or the same algorithm's: no regret.
    all.push_back(std::max(1.0, regret.told() ? regret.ratio : 1.0));
    if (regret.told()) told.push_back(std::max(1.0, regret.ratio));
  }
  return text + summary_line("rows that differ", told) +
         summary_line("all rows, the others as equal", all);
}

}  // namespace ringside::bench
