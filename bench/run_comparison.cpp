// SPDX-License-Identifier: MIT
#include "ringside/bench/run_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/statistics.hpp"
#include "ringside/bench/run_conditions.hpp"

namespace ringside::bench {
namespace {

/// Two probes of the same placement of the cores agree better than this, and probes of different
/// placements worse (measured: 20 to 28 ns, 53 to 62 ns, 255 to 290 ns).
constexpr double same_placement = 1.5;

/// Fewer rounds of a row than this, and it is not compared.
constexpr std::size_t least_rounds = 3;

bool is_baseline(const RunKey& key) { return key.algorithm.starts_with(baseline_prefix); }

double probe_of(const RunRound& round) {
  return std::sqrt(round.probe_before_ns * round.probe_after_ns);
}

/// The placements of the cores that the probes of both runs tell apart.
class CorePlaces {
 public:
  CorePlaces(const MeasuredRun& a, const MeasuredRun& b) {
    std::vector<double> probes;
    for (const MeasuredRun* run : {&a, &b})
      for (const auto& row : run->rows)
        for (const auto& round : row.rounds)
          if (steady(round) && probe_of(round) > 0) probes.push_back(probe_of(round));
    std::sort(probes.begin(), probes.end());
    for (std::size_t i = 1; i < probes.size(); ++i)
      if (probes[i] > probes[i - 1] * std::sqrt(same_placement))
        bounds_.push_back(std::sqrt(probes[i] * probes[i - 1]));
  }

  /// Whether the cores stayed where they were, as far as the probes tell.
  [[nodiscard]] static bool steady(const RunRound& round) {
    const auto [low, high] = std::minmax(round.probe_before_ns, round.probe_after_ns);
    return high <= low * same_placement;
  }

  [[nodiscard]] std::size_t of(const RunRound& round) const {
    return static_cast<std::size_t>(
        std::upper_bound(bounds_.begin(), bounds_.end(), probe_of(round)) - bounds_.begin());
  }
  [[nodiscard]] std::size_t count() const { return bounds_.size() + 1; }

 private:
  std::vector<double> bounds_;
};

/// Logarithms of the rounds of a row that can be compared, by the number of the round.
using Rounds = std::map<std::size_t, double>;

std::vector<double> values(const Rounds& rounds) {
  std::vector<double> list;
  for (const auto& [number, value] : rounds) list.push_back(value);
  return list;
}

/// How far values are apart: the median distance from their median.
double spread(std::vector<double> list) {
  const double middle = median(list);
  for (auto& value : list) value = std::abs(value - middle);
  return median(list);
}

/// What the rounds of a row may be divided by.
struct Normaliser {
  std::string name;
  /// The logarithm to subtract; nothing where it was not measured.
  std::function<std::optional<double>(bool of_new, std::size_t round)> log;
};

/// A row in both runs.
struct Pair {
  const RunRow* old_row;
  const RunRow* new_row;
  std::vector<std::pair<const RunRow*, const RunRow*>> baselines;

  [[nodiscard]] const RunRow& of(bool of_new) const { return of_new ? *new_row : *old_row; }
};

Rounds rounds_in(const Pair& pair, bool of_new, const CorePlaces& places, std::size_t place,
                 const Normaliser& normaliser) {
  Rounds rounds;
  const auto& all = pair.of(of_new).rounds;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!CorePlaces::steady(all[i]) || places.of(all[i]) != place) continue;
    if (const auto log = normaliser.log(of_new, i))
      rounds[i] = std::log(all[i].microseconds) - *log;
  }
  return rounds;
}

std::vector<Normaliser> normalisers_of(const Pair& pair) {
  std::vector<Normaliser> list = {{"", [](bool, std::size_t) { return 0.0; }}};
  list.push_back({"probe", [&pair](bool of_new, std::size_t round) -> std::optional<double> {
                    const double probe = probe_of(pair.of(of_new).rounds[round]);
                    return probe > 0 ? std::optional(std::log(probe)) : std::nullopt;
                  }});
  for (const auto& [old_row, new_row] : pair.baselines)
    list.push_back(
        {old_row->key.algorithm,
         [o = old_row, n = new_row](bool of_new, std::size_t round) -> std::optional<double> {
           const auto& rounds = (of_new ? n : o)->rounds;
           if (round >= rounds.size()) return std::nullopt;
           return std::log(rounds[round].microseconds);
         }});
  return list;
}

/// The rounds of a row in both runs, each above or below the middle of both runs with the cores
/// placed likewise.
struct Comparable {
  Rounds old_rounds, new_rounds;
  std::string normalised_by;
  double apart = 0;  ///< how far the rounds of a run are apart

  [[nodiscard]] std::size_t least() const { return std::min(old_rounds.size(), new_rounds.size()); }
};

/// The rounds of all placements of the cores that both runs have seen often enough.
std::optional<Comparable> divided_by(const Normaliser& normaliser, const Pair& pair,
                                     const CorePlaces& places) {
  Comparable all{.old_rounds = {}, .new_rounds = {}, .normalised_by = normaliser.name};
  for (std::size_t place = 0; place < places.count(); ++place) {
    auto old_rounds = rounds_in(pair, false, places, place, normaliser);
    auto new_rounds = rounds_in(pair, true, places, place, normaliser);
    if (std::min(old_rounds.size(), new_rounds.size()) < least_rounds) continue;
    const double middle = (median(values(old_rounds)) + median(values(new_rounds))) / 2;
    for (const auto& [round, value] : old_rounds) all.old_rounds[round] = value - middle;
    for (const auto& [round, value] : new_rounds) all.new_rounds[round] = value - middle;
  }
  if (all.old_rounds.empty()) return std::nullopt;
  all.apart = std::max(spread(values(all.old_rounds)), spread(values(all.new_rounds)));
  return all;
}

/// Divided by what makes the rounds agree best.
std::optional<Comparable> comparable(const Pair& pair, const CorePlaces& places) {
  constexpr double must_pay = 0.9;  // dividing by something adds its noise
  std::optional<Comparable> best;
  for (const auto& normaliser : normalisers_of(pair)) {
    auto one = divided_by(normaliser, pair, places);
    if (!one) continue;
    if (!best || one->least() > best->least() ||
        (one->least() == best->least() && one->apart < must_pay * best->apart))
      best = std::move(one);
  }
  return best;
}

Verdict verdict_of(const Interval& log_interval, double tolerance) {
  if (std::isinf(log_interval.high)) return Verdict::unknown;  // too few rounds
  const double limit = std::log1p(tolerance);
  if (log_interval.low > limit) return Verdict::slower;
  if (log_interval.high < -limit) return Verdict::faster;
  return Verdict::same;
}

Ratio ratio_of(const std::vector<double>& old_logs, const std::vector<double>& new_logs,
               double false_alarm, double tolerance) {
  const Shift shift = shift_between(old_logs, new_logs, 1 - false_alarm);
  return {std::exp(shift.estimate),
          {std::exp(shift.interval.low), std::exp(shift.interval.high)},
          verdict_of(shift.interval, tolerance)};
}

/// By round, the median over rows.
std::vector<double> round_levels(const std::vector<Comparable>& rows, bool of_new) {
  std::map<std::size_t, std::vector<double>> levels;
  for (const auto& row : rows)
    for (const auto& [round, value] : of_new ? row.new_rounds : row.old_rounds)
      levels[round].push_back(value);
  std::vector<double> medians;
  for (const auto& [round, list] : levels) medians.push_back(median(list));
  return medians;
}

const RunRow* find_row(const MeasuredRun& run, const RunKey& key) {
  const auto row = std::find_if(run.rows.begin(), run.rows.end(),
                                [&](const RunRow& candidate) { return candidate.key == key; });
  return row == run.rows.end() ? nullptr : &*row;
}

std::vector<Pair> pairs_of(const MeasuredRun& old_run, const MeasuredRun& new_run) {
  std::vector<Pair> pairs;
  for (const auto& row : old_run.rows) {
    if (is_baseline(row.key)) continue;
    const RunRow* other = find_row(new_run, row.key);
    if (other == nullptr) continue;
    Pair pair{&row, other, {}};
    for (const auto& baseline : old_run.rows) {
      RunKey key = baseline.key;
      if (!is_baseline(key)) continue;
      key.algorithm = row.key.algorithm;
      if (key != row.key) continue;
      if (const RunRow* now = find_row(new_run, baseline.key))
        pair.baselines.emplace_back(&baseline, now);
    }
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

std::uint64_t wrong_elements(const MeasuredRun& run) {
  std::uint64_t wrong = 0;
  for (const auto& row : run.rows) wrong += row.wrong;
  return wrong;
}

std::string why_nothing_is_told(const RunComparison& comparison) {
  const bool too_few =
      comparison.overall.too_few_rounds() ||
      std::any_of(comparison.rows.begin(), comparison.rows.end(),
                  [](const RowComparison& row) { return row.ratio.too_few_rounds(); });
  if (too_few)
    return "no row could be compared: too few rounds to tell; measure both runs with more --rounds";
  return "no row could be compared: the cores were never as far apart as in the old run; measure "
         "again";
}

bool says_nothing(const RunComparison& comparison) {
  return comparison.overall.verdict == Verdict::unknown &&
         std::all_of(comparison.rows.begin(), comparison.rows.end(), [](const RowComparison& row) {
           return row.ratio.verdict == Verdict::unknown;
         });
}

std::size_t rows_without_baselines(const MeasuredRun& run) {
  return static_cast<std::size_t>(std::count_if(
      run.rows.begin(), run.rows.end(), [](const RunRow& row) { return !is_baseline(row.key); }));
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::same:
      return "same";
    case Verdict::slower:
      return "slower";
    case Verdict::faster:
      return "faster";
    case Verdict::unknown:
      return "unknown";
  }
  return "?";
}

bool Ratio::too_few_rounds() const {
  return verdict == Verdict::unknown && std::isinf(interval.high);
}

bool RunComparison::slower() const {
  return overall.verdict == Verdict::slower ||
         std::any_of(rows.begin(), rows.end(),
                     [](const RowComparison& row) { return row.ratio.verdict == Verdict::slower; });
}

RunComparison compare_runs(const MeasuredRun& old_run, const MeasuredRun& new_run,
                           const ComparisonRules& rules) {
  check_same_conditions(old_run, new_run);
  const auto pairs = pairs_of(old_run, new_run);
  if (pairs.empty())
    throw Error(ErrorCode::bad_input,
                fmt::format("{} and {} have no row in common", old_run.name, new_run.name));
  RunComparison result;
  result.warnings = differing_conditions(old_run, new_run);
  result.old_wrong = wrong_elements(old_run);
  result.new_wrong = wrong_elements(new_run);
  result.only_old = rows_without_baselines(old_run) - pairs.size();
  result.only_new = rows_without_baselines(new_run) - pairs.size();

  const CorePlaces core_places(old_run, new_run);
  const double of_row = rules.false_alarm / 2 / static_cast<double>(pairs.size());
  std::vector<Comparable> usable;
  for (const auto& pair : pairs) {
    RowComparison row{.key = pair.old_row->key, .ratio = {}, .normalised_by = {}};
    if (auto rounds = comparable(pair, core_places)) {
      row.ratio =
          ratio_of(values(rounds->old_rounds), values(rounds->new_rounds), of_row, rules.tolerance);
      row.old_rounds = rounds->old_rounds.size();
      row.new_rounds = rounds->new_rounds.size();
      row.normalised_by = rounds->normalised_by;
      usable.push_back(std::move(*rounds));
    }
    result.rows.push_back(std::move(row));
  }
  if (!usable.empty())
    result.overall = ratio_of(round_levels(usable, false), round_levels(usable, true),
                              rules.false_alarm / 2, rules.tolerance);
  if (says_nothing(result)) throw Error(ErrorCode::bad_input, why_nothing_is_told(result));
  return result;
}

}  // namespace ringside::bench
