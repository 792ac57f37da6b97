// SPDX-License-Identifier: MIT
#include "ringside/trainer/compare.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/error.hpp"
#include "ringside/base/json_write.hpp"
#include "ringside/base/statistics.hpp"
#include "ringside/base/text.hpp"
#include "ringside/trainer/data/sampler.hpp"
#include "ringside/trainer/report.hpp"

namespace ringside::trainer {
namespace {

std::vector<double> of_rounds(const std::vector<EpochReport>& rounds,
                              const std::function<double(const EpochReport&)>& value) {
  std::vector<double> values;
  for (const auto& round : rounds) values.push_back(value(round));
  return values;
}

/// How many times as fast as the first contender, round by round.
std::vector<double> speedups(const Comparison& comparison, std::size_t contender) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < comparison.rounds[contender].size(); ++round)
    ratios.push_back(comparison.rounds[contender][round].samples_per_second() /
                     comparison.rounds[0][round].samples_per_second());
  return ratios;
}

/// Milliseconds of a step, mean of the ranks, median of the rounds.
double step_milliseconds(const std::vector<EpochReport>& rounds, Part part) {
  return median(of_rounds(rounds, [part](const EpochReport& report) {
    double sum = 0;
    for (const auto& rank : report.ranks) sum += rank.times[part];
    return 1e3 * sum / static_cast<double>(report.ranks.size()) / static_cast<double>(report.steps);
  }));
}

double samples_per_second(const std::vector<EpochReport>& rounds) {
  return median(
      of_rounds(rounds, [](const EpochReport& report) { return report.samples_per_second(); }));
}

/// Medians of the rounds.
FirstRankLoad load_of_first(const std::vector<EpochReport>& rounds) {
  const auto median_of = [&](double FirstRankLoad::*part) {
    return median(of_rounds(
        rounds, [part](const EpochReport& report) { return first_rank_load(report).*part; }));
  };
  return {median_of(&FirstRankLoad::work), median_of(&FirstRankLoad::memory)};
}

double cores(const std::vector<EpochReport>& rounds) {
  return median(of_rounds(
      rounds, [](const EpochReport& report) { return report.processor_seconds / report.seconds; }));
}

/// What every rank moves in a step. Its batch is as large as those that are timed.
std::vector<Traffic> traffic_of_step(Engine& engine, const Dataset& data, TrainingSettings settings,
                                     const Contender& contender) {
  if (settings.backend.kind == BackendKind::nccl) return {};  // does not tell its algorithms
  settings.strategy = contender.strategy;
  settings.steps = 1;
  settings.untimed_steps = 0;
  settings.count_traffic = true;
  World world = make_world(settings.backend, contender.ranks);
  Observer nobody;
  std::vector<Traffic> traffic;
  const auto reports = train(world, engine, data, settings, nobody);
  for (const auto& rank : reports.front().ranks) traffic.push_back(rank.traffic);
  return traffic;
}

std::uint64_t most_sent(const std::vector<Traffic>& ranks) {
  std::uint64_t most = 0;
  for (const auto& rank : ranks) most = std::max(most, rank.sent);
  return most;
}

std::uint64_t all_sent(const std::vector<Traffic>& ranks) {
  std::uint64_t sum = 0;
  for (const auto& rank : ranks) sum += rank.sent;
  return sum;
}

std::string times_the_others(int ranks, double factor) {
  return ranks == 1 ? "-" : fmt::format("{:.2f} x", factor);
}

std::string bytes_or_nothing(const std::vector<Traffic>& ranks,
                             std::uint64_t (*which)(const std::vector<Traffic>&)) {
  return ranks.size() < 2 ? "-" : format_bytes(which(ranks));
}

Json bytes_json(const std::vector<Traffic>& ranks) {
  Json sent = Json::array(), received = Json::array();
  for (const auto& rank : ranks) {
    sent.push_back(rank.sent);
    received.push_back(rank.received);
  }
  return {{"sent", sent}, {"received", received}};
}

/// What the table says of the way.
std::string how_it_travels(const StrategySettings& strategy) {
  if (strategy.kind == StrategyKind::single) return "-";
  if (strategy.kind == StrategyKind::pipeline)
    return fmt::format("{} micro-batches", strategy.micro_batches);
  return strategy.algorithm.empty() ? "auto" : strategy.algorithm;
}

}  // namespace

void check_comparison(const TrainingSettings& settings, const Dataset& data) {
  const std::int64_t steps = settings.steps.value_or(0), untimed = settings.untimed_steps;
  if (untimed < 0 || steps <= untimed)
    throw Error(ErrorCode::invalid_argument, "a comparison has at least one step that is timed");
  // Of one epoch: the steps that are timed are not torn apart.
  const auto there = static_cast<std::int64_t>(
      steps_of_epoch(data.training.count(), std::max<std::size_t>(settings.batch, 1)));
  if (steps > there)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("an epoch has {} steps, too few to time {} behind {} that warm up: "
                            "take more samples, smaller batches or fewer steps",
                            there, steps - untimed, untimed));
}

Comparison compare(Engine& engine, const Dataset& data, const TrainingSettings& settings,
                   const std::vector<Contender>& contenders, int rounds,
                   const std::function<void(std::size_t, std::size_t, const std::string&)>& going) {
  check_comparison(settings, data);
  Comparison comparison{contenders, {}, {}};
  comparison.rounds.resize(contenders.size());
  const std::size_t all = contenders.size() * static_cast<std::size_t>(rounds);
  for (const auto& contender : contenders)
    comparison.traffic.push_back(traffic_of_step(engine, data, settings, contender));
  Observer nobody;
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      going(static_cast<std::size_t>(round) * contenders.size() + i, all, describe(contenders[i]));
      TrainingSettings own = settings;
      own.strategy = contenders[i].strategy;
      World world = make_world(own.backend, contenders[i].ranks);
      comparison.rounds[i].push_back(train(world, engine, data, own, nobody).front());
    }
  return comparison;
}

std::string describe(const Contender& contender) {
  const auto& strategy = contender.strategy;
  if (strategy.kind == StrategyKind::single) return "single, 1 rank";
  return fmt::format("{}, {}, {} ranks", name_of(strategy.kind, strategy.zero_stage),
                     how_it_travels(strategy), contender.ranks);
}

std::string comparison_table(const Comparison& comparison) {
  std::string text = fmt::format(
      "# measured: medians of {} rounds; speedup: median of same-round ratios (least to most); "
      "ms of a step, mean of the ranks;\n"
      "# cores: processor time over time; rank 0: its processor time and peak memory beside the "
      "others' mean{}\n"
      "# counted: what the rank that sends most, and all ranks, send in a step\n"
      "{:<14} {:<20} {:>5} {:>10} {:>21} {:>6} {:>6} {:>8} {:>9} {:>8} {:>7} {:>7}  {:>6} {:>7} "
      "{:>10} {:>10}\n",
      comparison.rounds[0].size(), words_of_speeds(comparison.contenders.back().strategy),
      "strategy", "algorithm", "ranks", "samples/s", "speedup", "cores", "data", "forward",
      "backward", "exposed", "hidden", "update", "rank 0", "memory", "sent", "in all");
  for (std::size_t i = 0; i < comparison.contenders.size(); ++i) {
    const auto& [ranks, strategy] = comparison.contenders[i];
    const auto& rounds = comparison.rounds[i];
    const auto ratios = speedups(comparison, i);
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    const auto load = load_of_first(rounds);
    const auto ms = [&](Part part) { return step_milliseconds(rounds, part); };
    text += fmt::format(
        "{:<14} {:<20} {:>5} {:>10.0f} {:>7.2f} ({:.2f} to {:.2f}) {:>6.2f} {:>6.2f} {:>8.2f} "
        "{:>9.2f} {:>8.2f} {:>7.2f} {:>7.2f}  {:>6} {:>7} {:>10} {:>10}\n",
        name_of(strategy.kind, strategy.zero_stage), how_it_travels(strategy), ranks,
        samples_per_second(rounds), median(ratios), *least, *most, cores(rounds), ms(Part::data),
        ms(Part::forward), ms(Part::backward), ms(Part::exposed), ms(Part::hidden),
        ms(Part::update), times_the_others(ranks, load.work), times_the_others(ranks, load.memory),
        bytes_or_nothing(comparison.traffic[i], most_sent),
        bytes_or_nothing(comparison.traffic[i], all_sent));
  }
  return text;
}

std::string comparison_json(const Comparison& comparison, const TrainingSettings& settings,
                            const Dataset& data, const EngineFacts& engine) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < comparison.contenders.size(); ++i) {
    const auto& [ranks, strategy] = comparison.contenders[i];
    const auto& rounds = comparison.rounds[i];
    const auto load = load_of_first(rounds);
    Json parts;
    for (std::size_t part = 0; part < part_names.size(); ++part)
      parts[std::string(part_names[part])] = step_milliseconds(rounds, static_cast<Part>(part));
    rows.push_back(
        {{"strategy", name_of(strategy.kind, strategy.zero_stage)},
         {"algorithm", strategy.algorithm.empty() ? "auto" : strategy.algorithm},
         {"micro_batches",
          strategy.kind == StrategyKind::pipeline ? Json(strategy.micro_batches) : Json(nullptr)},
         {"ranks", ranks},
         {"shares", strategy.shares},
         {"slowed_ranks", strategy.slow_ranks},
         {"samples_per_second", samples_per_second(rounds)},
         {"rounds", of_rounds(rounds, [](const EpochReport& r) { return r.samples_per_second(); })},
         {"speedup", median(speedups(comparison, i))},
         {"speedups", speedups(comparison, i)},
         {"cores", cores(rounds)},
         {"first_rank_work", load.work},
         {"first_rank_memory", load.memory},
         {"step_milliseconds", parts},
         {"step_bytes_counted", bytes_json(comparison.traffic[i])}});
  }
  return dump_json({{"kind", "training_comparison"},
                    {"times", "measured"},
                    {"model", to_string(settings.model.model)},
                    {"data", data.name},
                    {"batch", settings.batch},
                    {"engine", engine.name},
                    {"rows", rows}});
}

}  // namespace ringside::trainer
