// SPDX-License-Identifier: MIT
#include "ringside/bench/tune.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "ringside/base/error.hpp"
#include "ringside/base/statistics.hpp"
#include "ringside/base/text.hpp"
#include "ringside/bench/intervals.hpp"
#include "ringside/bench/sweep.hpp"
#include "ringside/bench/volume.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/collectives/prover.hpp"

namespace ringside::bench {
namespace {

/// Below this many bytes per rank a slice is shorter than what starting it costs.
constexpr std::uint64_t least_sliced = std::uint64_t{128} << 10;

constexpr double cost_of_change = 0.05;
constexpr double cost_of_place = 0.001;

/// A candidate this many times slower than the fastest is not looked at closely, and one that is so
/// at two sizes on end is not tried at larger ones.
constexpr double hopeless = 1.6;

constexpr int trial_rounds = 2;
constexpr int final_rounds = 7;
constexpr double trial_share = 0.4;  // of a size's time

std::vector<std::string> variants(const AlgorithmInfo& info, bool sliced) {
  std::vector<std::string> specs = {info.name};
  for (const auto& parameter : info.parameters)
    if (parameter.name == "transfer")
      for (const auto way : {"fused", "pull", "push"})
        if (way != parameter.default_text)
          specs.push_back(fmt::format("{}:transfer={}", info.name, way));
  if (sliced)
    for (const int slices : {4, 16})
      specs.push_back(with_parameters(info.name, fmt::format("slices={}", slices)));
  return specs;
}

/// The hash of the plan in both placements. Throws for what cannot serve them or is wrong.
std::uint64_t proven_hash(const std::string& spec, Collective collective, int ranks) {
  std::uint64_t hash = 0;
  for (const bool in_place : {false, true}) {
    if (in_place && !can_be_in_place(collective)) continue;
    const Plan plan = make_plan(spec, {collective, ranks, 0, in_place});
    (void)require_proof(plan, false);
    hash = hash * 31 + plan.hash();
  }
  return hash;
}

/// The same-round ratios of one timing to another, and what they say.
double told_ratio(const Timing& timing, const Timing& fastest) {
  std::vector<double> ratios;
  const auto rounds = std::min(timing.round_times.size(), fastest.round_times.size());
  for (std::size_t i = 0; i < rounds; ++i)
    ratios.push_back(timing.round_times[i] / fastest.round_times[i]);
  if (ratios.empty()) return timing.time / fastest.time;
  const Interval interval = median_interval(ratios, 0.9);
  // Of a trial's few rounds all must say the same.
  const bool equal = std::isinf(interval.high) ? minimum(ratios) <= 1 && maximum(ratios) >= 1
                                               : interval.contains(1);
  return equal ? 1 : std::max(1.0, median(ratios));
}

/// One number of ranks, one collective: what the placements are and what is still tried.
class Tuner {
 public:
  Tuner(const TuneRequest& request, Collective collective, int ranks, Seconds per_size,
        std::vector<Skipped>* skipped)
      : request_(request),
        collective_(collective),
        ranks_(ranks),
        per_size_(per_size),
        candidates_(candidates(true, skipped)),
        plain_(candidates(false, nullptr)) {}

  void measure(std::uint64_t size) {
    if (volume_of(collective_, ranks_, ElementType::float32, size, true).count == 0) return;
    std::vector<std::string> specs;
    for (const auto& spec : size < least_sliced ? plain_ : candidates_)
      if (given_up_.find(spec) == given_up_.end()) specs.push_back(spec);
    if (specs.empty()) return;
    const Report trial = sweep(size, specs, trial_rounds, trial_share);
    if (trial.series.empty() || trial.series.front().rows.empty()) return;
    const auto first = compare(trial);
    std::vector<std::string> close;
    for (const auto& spec : specs)
      if (ratio_of(first.front(), spec) < hopeless || ratio_of(first.back(), spec) < hopeless)
        close.push_back(spec);
    give_up(first, specs);
    const auto second =
        close.size() < 2 ? first : compare(sweep(size, close, final_rounds, 1 - trial_share));
    for (std::size_t i = 0; i < first.size(); ++i) {
      SizeTrials known = second[i];
      for (const auto& slower : first[i].trials)  // for the record, and the sum over the sizes
        if (ratio_of(known, slower.spec) == infinite) known.trials.push_back(slower);
      if (results_.size() <= i) results_.emplace_back();
      if (results_[i].empty() || known.bytes > results_[i].back().bytes)
        results_[i].push_back(std::move(known));
    }
  }

  /// That were measured on; nothing on the host.
  [[nodiscard]] const std::optional<Gpus>& gpus() const { return gpus_; }
  /// When the last measurement ended.
  [[nodiscard]] const std::string& date() const { return date_; }

  [[nodiscard]] std::vector<TuningRow> rows(int cores) const {
    std::vector<TuningRow> rows;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      TuningRow row;
      row.backend = to_string(request_.backend);
      row.collective = collective_;
      row.ranks = ranks_;
      row.cores = cores;
      if (chooses_by_placement(collective_)) row.in_place = i == 1;
      row.ranges = best_ranges(results_[i], candidates_);
      for (const auto& size : results_[i]) row.measured.push_back(record(size, row));
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  static constexpr double infinite = std::numeric_limits<double>::infinity();

  /// Canonical: what the series will be called.
  [[nodiscard]] std::vector<std::string> candidates(bool sliced,
                                                    std::vector<Skipped>* skipped) const {
    if (request_.algorithms.empty()) return tuning_candidates(collective_, ranks_, sliced, skipped);
    std::vector<std::string> specs;
    for (const auto& spec : request_.algorithms) try {
        specs.push_back(PlanStream(parse_spec(spec), {collective_, ranks_, 0, false}).spec());
      } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) throw;  // it is for another collective
      }
    return specs;
  }

  [[nodiscard]] static double ratio_of(const SizeTrials& trials, const std::string& spec) {
    for (const auto& trial : trials.trials)
      if (trial.spec == spec) return trial.ratio;
    return infinite;
  }

  [[nodiscard]] Report sweep(std::uint64_t size, const std::vector<std::string>& specs, int rounds,
                             double share) {
    BenchRequest request;
    request.backend = request_.backend;
    request.gpus = request_.gpus;
    request.collectives = {collective_};
    request.algorithms = specs;
    request.ranks = {ranks_};
    request.sizes = {.begin = size, .end = size};
    request.measured = {true, can_be_in_place(collective_)};
    const auto blocks = static_cast<double>(specs.size()) * (request.measured[1] ? 2 : 1);
    request.time = per_size_ * share / blocks;
    request.rounds = rounds;
    request.exact_counts = true;
    request.check = false;  // nothing runs that is not proven
    request.watch = false;
    request.pin = request_.pin;
    Report report = run_sweep(request);
    date_ = report.end_time;
    gpus_ = report.gpus;
    return report;
  }

  /// By placement where the choice may depend on it, else one for both.
  [[nodiscard]] std::vector<SizeTrials> compare(const Report& report) const {
    const Row& row = report.series.front().rows.front();
    const auto blocks = block_count({collective_, ranks_, 0, false});
    const std::uint64_t bytes = row.count * size_of(row.type) * static_cast<std::uint64_t>(blocks);
    if (chooses_by_placement(collective_))
      return {trials_of(report, bytes, {Placement::out_of_place}),
              trials_of(report, bytes, {Placement::in_place})};
    std::vector<Placement> wanted = {Placement::out_of_place};
    if (can_be_in_place(collective_)) wanted.push_back(Placement::in_place);
    return {trials_of(report, bytes, wanted)};
  }

  void give_up(const std::vector<SizeTrials>& trials, const std::vector<std::string>& specs) {
    for (const auto& spec : specs) {
      double least = infinite;
      for (const auto& of_placement : trials) least = std::min(least, ratio_of(of_placement, spec));
      int& times = hopeless_times_[spec];
      times = least > hopeless ? times + 1 : 0;
      if (times == 2) given_up_.insert(spec);
    }
  }

  /// The three fastest and the one that is chosen.
  [[nodiscard]] static MeasuredSize record(const SizeTrials& size, const TuningRow& row) {
    constexpr std::size_t most = 3;
    auto trials = size.trials;
    std::stable_sort(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) {
      return a.microseconds < b.microseconds;
    });
    const std::string& chosen = row.ranges[row.range_of(size.bytes)].spec;
    MeasuredSize measured{.bytes = size.bytes, .times = {}};
    for (std::size_t i = 0; i < trials.size(); ++i)
      if (i < most || trials[i].spec == chosen)
        measured.times.push_back(
            {trials[i].spec, std::stod(fmt::format("{:.4g}", trials[i].microseconds))});
    return measured;
  }

  const TuneRequest& request_;
  Collective collective_;
  int ranks_;
  Seconds per_size_;
  std::vector<std::string> candidates_, plain_;  // with and without slices
  std::string date_;
  std::optional<Gpus> gpus_;
  std::map<std::string, int> hopeless_times_;
  std::set<std::string> given_up_;
  std::vector<std::vector<SizeTrials>> results_;  // by placement or for both, by size
};

std::vector<Collective> collectives_of(const TuneRequest& request) {
  if (!request.collectives.empty()) return request.collectives;
  std::vector<Collective> all;
  for (const auto name : collective_names())
    if (const auto collective = parse_collective(name); *collective != Collective::barrier)
      all.push_back(*collective);
  return all;
}

std::size_t cells(const TuneRequest& request) {
  return collectives_of(request).size() * request.ranks.size() * sizes_of(request.sizes).size();
}

}  // namespace

std::vector<std::string> tuning_candidates(Collective collective, int ranks, bool sliced,
                                           std::vector<Skipped>* skipped) {
  std::vector<std::string> specs;
  std::set<std::uint64_t> plans;
  const auto consider = [&](const std::string& spec) {
    try {
      if (plans.insert(proven_hash(spec, collective, ranks)).second) specs.push_back(spec);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::bad_input) throw;
      const bool plain = spec.find(':') == std::string::npos;  // its variants need no word
      if (plain && skipped != nullptr) skipped->push_back({spec, ranks, error.what(), collective});
    }
  };
  const auto serves = [&](const AlgorithmInfo& info) {
    const auto& served = info.collectives;
    return std::find(served.begin(), served.end(), collective) != served.end();
  };
  // All plain ones before the first variant: a variant must pay to be taken.
  for (const AlgorithmInfo& info : registered_algorithms())
    if (serves(info)) consider(info.name);
  for (const AlgorithmInfo& info : registered_algorithms())
    if (serves(info))
      for (const auto& spec : variants(info, sliced)) consider(spec);
  return specs;
}

SizeTrials trials_of(const Report& report, std::uint64_t bytes,
                     const std::vector<Placement>& wanted) {
  const auto timing = [](const Series& series, Placement placement) -> const auto& {
    return series.rows.front().at(placement);
  };
  std::vector<const Series*> complete;
  for (const auto& series : report.series)
    if (!series.rows.empty() && std::all_of(wanted.begin(), wanted.end(), [&](Placement placement) {
          return timing(series, placement).has_value();
        }))
      complete.push_back(&series);

  SizeTrials result{.bytes = bytes, .trials = {}};
  for (const Series* series : complete) result.trials.push_back({series->label, 0, 1});
  const auto share = 1 / static_cast<double>(wanted.size());
  for (const Placement placement : wanted) {
    const Timing* fastest = nullptr;
    for (const Series* series : complete)
      if (fastest == nullptr || timing(*series, placement)->time < fastest->time)
        fastest = &*timing(*series, placement);
    for (std::size_t i = 0; i < complete.size(); ++i) {
      const Timing& own = *timing(*complete[i], placement);
      result.trials[i].microseconds += own.time * share;
      result.trials[i].ratio *= std::pow(told_ratio(own, *fastest), share);
    }
  }
  return result;
}

std::vector<TuningRange> best_ranges(const std::vector<SizeTrials>& sizes,
                                     const std::vector<std::string>& candidates) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const std::size_t n = candidates.size();
  std::vector<double> cost(n, 0);                   // of the best way to end with a candidate
  std::vector<std::vector<std::size_t>> came_from;  // [size][candidate]
  for (const auto& size : sizes) {
    const auto best =
        static_cast<std::size_t>(std::min_element(cost.begin(), cost.end()) - cost.begin());
    std::vector<double> next(n, infinite);
    std::vector<std::size_t> from(n, best);
    for (std::size_t i = 0; i < n; ++i) {
      const auto trial = std::find_if(size.trials.begin(), size.trials.end(),
                                      [&](const Trial& t) { return t.spec == candidates[i]; });
      if (trial == size.trials.end()) continue;
      const double change = came_from.empty() ? 0 : cost_of_change;
      const bool stays = cost[i] <= cost[best] + change;
      from[i] = stays ? i : best;
      next[i] = (stays ? cost[i] : cost[best] + change) + std::log(trial->ratio) +
                cost_of_place * static_cast<double>(i);
    }
    cost = std::move(next);
    came_from.push_back(std::move(from));
  }

  std::vector<std::size_t> chosen(sizes.size());
  auto at = static_cast<std::size_t>(std::min_element(cost.begin(), cost.end()) - cost.begin());
  for (std::size_t i = sizes.size(); i-- > 0;) {
    chosen[i] = at;
    at = came_from[i][at];
  }
  std::vector<TuningRange> ranges;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0 && chosen[i] == chosen[i - 1]) continue;
    const double middle =
        i == 0 ? 0
               : std::sqrt(static_cast<double>(std::max<std::uint64_t>(sizes[i - 1].bytes, 1)) *
                           static_cast<double>(sizes[i].bytes));
    ranges.push_back({static_cast<std::uint64_t>(std::ceil(middle)), candidates[chosen[i]]});
  }
  return ranges;
}

Seconds least_tuning_time(const TuneRequest& request) {
  // Measured on the host: teams, plans, proofs and the shortest rounds. On GPUs peers are probed as
  // well, for each of two sweeps: an estimate, not measured.
  const Seconds of_cell{runs_on_gpus(request.backend) ? 0.5 : 0.05};
  return of_cell * static_cast<double>(cells(request));
}

std::string tuning_estimate(const TuneRequest& request) {
  const double seconds = request.time.count();
  const auto counted = [](std::size_t count, const char* thing) {
    return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
  };
  return fmt::format(
      "about {}, for {}, {} ranks, {}",
      seconds < 100 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60),
      counted(collectives_of(request).size(), "collective"), fmt::join(request.ranks, ", "),
      counted(sizes_of(request.sizes).size(), "size"));
}

TuningTable tune(const TuneRequest& request,
                 const std::function<void(std::size_t done, std::size_t total,
                                          const std::string& what)>& progress,
                 std::vector<Skipped>* skipped) {
  const Machine machine = read_machine();
  const auto sizes = sizes_of(request.sizes);
  const std::size_t total = cells(request);
  const Stopwatch watch;
  TuningTable table;
  std::optional<Gpus> gpus;
  std::size_t done = 0;
  for (const Collective collective : collectives_of(request))
    for (const int ranks : request.ranks) {
      // What earlier cells took longer than their share, later ones make up for.
      Tuner tuner(request, collective, ranks,
                  std::max(Seconds{0.02},
                           (request.time - watch.elapsed()) / static_cast<double>(total - done)),
                  skipped);
      for (const auto size : sizes) {
        progress(done++, total,
                 fmt::format("{}, {} ranks, {}", to_string(collective), ranks, format_bytes(size)));
        tuner.measure(size);
      }
      for (auto& row : tuner.rows(machine.allowed_cores)) table.rows.push_back(std::move(row));
      table.origin.date = tuner.date();
      if (tuner.gpus()) gpus = tuner.gpus();
    }
  if (table.rows.empty())
    throw Error(ErrorCode::unsupported,
                "none of the algorithms named serves any of the collectives and ranks");
  table.origin.machine = fmt::format("{}, {} of {} cores, {} kernels", machine.processor,
                                     machine.allowed_cores, machine.cores, machine.kernels);
  table.origin.commit = machine.source_commit;
  std::string how = fmt::format("ranks are threads{}", request.pin ? " (pinned)" : "");
  if (gpus) {
    table.origin.machine += "; " + in_words(*gpus);
    how = fmt::format("by events of the GPUs, calls issued in {}, copies={}",
                      fmt::join(request.gpus.issue, ""), fmt::join(request.gpus.copies, ""));
  }
  table.origin.measured = fmt::format(
      "microseconds of one call, float32 sum, warm buffers, {}; the three fastest and the choice; "
      "both placements averaged where a choice holds for both",
      how);
  return table;
}

}  // namespace ringside::bench
