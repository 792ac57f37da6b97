// SPDX-License-Identifier: MIT
#include "ringside/trainer/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "ringside/base/json_write.hpp"
#include "ringside/base/text.hpp"
#include "ringside/trainer/grouped.hpp"
#include "ringside/trainer/shares.hpp"

namespace ringside::trainer {
namespace {

/// A rank's time that has a part; hidden communication takes none.
double worked(const StepTimes& times) {
  return times[Part::data] + times[Part::forward] + times[Part::backward] + times[Part::update];
}

/// Mean over the ranks.
double mean(const EpochReport& report, Part part) {
  double sum = 0;
  for (const auto& rank : report.ranks) sum += rank.times[part];
  return sum / static_cast<double>(std::max<std::size_t>(report.ranks.size(), 1));
}

/// `samples`: that are accumulated at a time.
std::string how_it_travels(const StrategySettings& strategy, std::size_t samples) {
  if (strategy.kind == StrategyKind::pipeline)
    return fmt::format("activations by messages, in {} micro-batches",
                       std::min(strategy.micro_batches, samples));
  if (strategy.kind == StrategyKind::tensor)
    return "activations by all_gather, their gradients by reduce_scatter";
  std::string words = fmt::format("{} by {}", to_string(what_sums(strategy.kind)),
                                  strategy.algorithm.empty() ? "auto" : strategy.algorithm);
  if (strategy.narrow_wire) words += ", as bfloat16";
  const bool could_overlap =
      strategy.kind == StrategyKind::distributed || strategy.kind == StrategyKind::sharded;
  if (could_overlap && !strategy.overlap) words += ", not overlapped";
  return words;
}

/// "; rank 1 computes 3 x as long", for every such rank.
std::string slowness(const StrategySettings& strategy) {
  std::string words;
  for (std::size_t rank = 0; rank < strategy.slow_ranks.size(); ++rank)
    if (strategy.slow_ranks[rank] > 1)
      words +=
          fmt::format("; rank {} slowed: computes {} x as long", rank, strategy.slow_ranks[rank]);
  return words;
}

/// What of ranks' speeds and samples is not the usual.
std::string how_it_is_shared(const TrainingSettings& settings) {
  std::string words;
  if (settings.synchronised_batch_norm) words += "; batch norms synchronised";
  if (settings.measured_shares)
    words += fmt::format("; shares by what {} steps measure", steps_to_measure_shares);
  return words + words_of_speeds(settings.strategy);
}

Json json_of(const MemoryUse& memory) {
  return {{"parameters", memory.parameters},
          {"gradients", memory.gradients},
          {"optimizer", memory.optimizer},
          {"staging", memory.staging}};
}

Json json_of(const Balance& balance) {
  Json ranks = Json::array();
  for (const RankBalance& rank : balance.ranks)
    ranks.push_back({{"samples", rank.samples},
                     {"computing_seconds", rank.computing},
                     {"waiting_seconds", rank.waiting}});
  return {{"shares", balance.shares},
          {"steps", balance.steps},
          {"samples_per_second", balance.samples_per_second()},
          {"ranks", ranks}};
}

/// Ranks that split the network each compute the whole batch.
std::string words_of_shares(const Balance& balance) {
  if (!balance.shares.empty()) return to_words(balance.shares);
  const bool all_have_all =
      balance.ranks.size() > 1 &&
      std::all_of(balance.ranks.begin(), balance.ranks.end(),
                  [&](const RankBalance& rank) { return rank.samples == balance.samples; });
  return all_have_all ? "whole batches" : "equal";
}

/// The part of the time that the least busy rank computes.
double least_busy(const Balance& balance) {
  const auto least = std::min_element(
      balance.ranks.begin(), balance.ranks.end(),
      [](const RankBalance& a, const RankBalance& b) { return a.computing < b.computing; });
  return balance.seconds > 0 ? least->computing / balance.seconds : 0;
}

std::string rows_of(const Balance& balance) {
  std::string text;
  for (std::size_t rank = 0; rank < balance.ranks.size(); ++rank) {
    const auto& its = balance.ranks[rank];
    text +=
        fmt::format("  {:<16} {:>4} {:>9} {:>12.2f} {:>10.2f} {:>12}\n", words_of_shares(balance),
                    rank, its.samples, its.computing, its.waiting,
                    its.samples > 0 ? fmt::format("{:.1f}", 1e6 * its.seconds_of_a_sample()) : "-");
  }
  return text;
}

std::string summary_of(const Balance& balance) {
  return fmt::format(
      "# shares {}: {} steps at {:.0f} samples/s; the least busy rank computes {:.0f} % of the "
      "time\n",
      words_of_shares(balance), balance.steps, balance.samples_per_second(),
      100 * least_busy(balance));
}

/// How long ranks would compute the same samples in equal shares, by what each took for a sample.
/// Nothing is known of a rank that had none.
std::string with_equal_shares(const Balance& balance) {
  if (std::any_of(balance.ranks.begin(), balance.ranks.end(),
                  [](const RankBalance& rank) { return rank.samples == 0; }))
    return "";
  std::vector<double> seconds;
  const auto equal =
      static_cast<double>(balance.samples) / static_cast<double>(balance.ranks.size());
  for (const RankBalance& rank : balance.ranks)
    seconds.push_back(rank.seconds_of_a_sample() * equal);
  return fmt::format("# worked out: with equal shares they would compute {:.2f} s\n",
                     fmt::join(seconds, ", "));
}

Json json_of(const StepTimes& times) {
  Json parts;
  for (std::size_t part = 0; part < part_names.size(); ++part)
    parts[std::string(part_names[part])] = times.seconds()[part];
  return parts;
}

Json json_of(const EpochReport& report) {
  Json ranks = Json::array();
  for (const auto& rank : report.ranks)
    ranks.push_back({{"seconds", json_of(rank.times)},
                     {"processor_seconds", rank.processor_seconds},
                     {"peak_bytes", rank.peak_bytes},
                     {"memory", json_of(rank.memory)}});
  Json balances = Json::array();
  for (const Balance& balance : report.balance) balances.push_back(json_of(balance));
  Json epoch{{"epoch", report.epoch},
             {"steps", report.steps},
             {"samples", report.samples},
             {"seconds", report.seconds},
             {"processor_seconds", report.processor_seconds},
             {"samples_per_second", report.samples_per_second()},
             {"learning_rate", report.rate},
             {"loss", report.training.loss},
             {"accuracy", report.training.accuracy()}};
  if (report.test) {
    epoch["test_loss"] = report.test->loss;
    epoch["test_accuracy"] = report.test->accuracy();
  }
  epoch["parameters_sha256"] = to_hex(report.parameters);
  epoch["ranks"] = std::move(ranks);
  epoch["balance"] = std::move(balances);
  return epoch;
}

}  // namespace

std::string words_of_speeds(const StrategySettings& strategy) {
  return (strategy.shares.empty() ? "" : fmt::format("; shares {}", to_words(strategy.shares))) +
         slowness(strategy);
}

std::string name_of(StrategyKind kind, int zero_stage) {
  const bool first_stage = kind == StrategyKind::sharded && zero_stage == 1;
  return fmt::format("{}{}", to_string(kind), first_stage ? " (1)" : "");
}

std::string title(const TrainingSettings& settings, const Dataset& data, int ranks,
                  const EngineFacts& engine) {
  const auto& model = settings.model;
  const auto width = width_of(model);
  std::string text = fmt::format(
      "# {}{}: {} parameters in {}; {}, {} images and {} to test\n", to_string(model.model),
      model.width == 0 ? "" : fmt::format(" of width {}", width),
      grouped(tensors_of(model).parameters.numbers()), to_string(model.precision), data.name,
      grouped(data.training.count()), grouped(data.test.count()));
  const auto& strategy = settings.strategy;
  text += fmt::format("# {}{} on {} rank{}", to_string(strategy.kind),
                      strategy.kind == StrategyKind::sharded
                          ? fmt::format(" (ZeRO stage {})", strategy.zero_stage)
                          : "",
                      ranks, ranks == 1 ? "" : "s");
  if (ranks > 1)
    text += fmt::format(
        "; {}", how_it_travels(strategy, part_of(settings.batch, settings.pieces, 0).length));
  if (settings.backend.kind == BackendKind::mpi) text += "; ranks are MPI processes";
  if (runs_on_gpus(settings.backend.kind))
    text += fmt::format("; computed at the host, travelling by {} on GPUs {}",
                        to_string(settings.backend.kind),
                        fmt::join(devices_of(settings.backend, ranks), ", "));
  if (settings.wire > 0)
    text += fmt::format("; collectives slowed by {}/s",
                        format_bytes(static_cast<std::uint64_t>(settings.wire)));
  text += how_it_is_shared(settings);
  text += fmt::format(
      "\n# batch {}{}, learning rate {:.4g}{}{}{}, seed {}\n", settings.batch,
      settings.pieces > 1 ? fmt::format(" in {} pieces", settings.pieces) : "", settings.rate,
      settings.warmup_epochs > 0 ? fmt::format(" from {:.4g} within {:.4g} epochs",
                                               settings.warmup_from, settings.warmup_epochs)
                                 : "",
      settings.momentum > 0 ? fmt::format(", momentum {:.4g}", settings.momentum) : "",
      settings.decay > 0 ? fmt::format(", weight decay {:.4g}", settings.decay) : "", model.seed);
  text += fmt::format("# computed by {}, {} thread{} a rank{}{}\n", engine.name, settings.threads,
                      settings.threads == 1 ? "" : "s", engine.settings.empty() ? "" : "; ",
                      fmt::join(engine.settings, "; "));
  for (const auto& warning : engine.warnings) text += fmt::format("# warning: {}\n", warning);
  return text;
}

std::string table_head() {
  return "# measured; times in % of the epoch, mean of the ranks; hidden: beside the backward "
         "pass\n"
         " epoch    loss  accuracy   test  seconds  samples/s   data  forward  backward  exposed"
         "  hidden  update\n";
}

std::string table_row(const EpochReport& report) {
  const auto percent = [&](Part part) {
    return report.seconds > 0 ? 100 * mean(report, part) / report.seconds : 0;
  };
  return fmt::format(
      "{:6d} {:7.4f}  {:8.3f}  {:>5} {:8.2f} {:10.0f}  {:5.1f} {:8.1f} {:9.1f} "
      "{:8.1f} {:7.1f} {:7.1f}\n",
      report.epoch, report.training.loss, report.training.accuracy(),
      report.test ? fmt::format("{:.3f}", report.test->accuracy()) : "-", report.seconds,
      report.samples_per_second(), percent(Part::data), percent(Part::forward),
      percent(Part::backward), percent(Part::exposed), percent(Part::hidden),
      percent(Part::update));
}

std::string summary(const std::vector<EpochReport>& reports, std::uint64_t seed) {
  if (reports.empty()) return "# nothing was left to do\n";
  std::string text;
  constexpr std::size_t last = 3;
  const auto from = reports.size() > last ? reports.end() - last : reports.begin();
  const auto best = std::max_element(from, reports.end(), [](const auto& a, const auto& b) {
    return (a.test ? a.test->accuracy() : 0) < (b.test ? b.test->accuracy() : 0);
  });
  if (best->test)
    text += fmt::format("# best test accuracy of the last {} epoch{}: {:.4f} (seed {})\n",
                        reports.end() - from, reports.end() - from == 1 ? "" : "s",
                        best->test->accuracy(), seed);
  text += fmt::format("# parameters on {}: SHA-256 {}...\n",
                      reports.back().ranks.size() == 1 ? "the rank" : "all ranks",
                      to_hex(reports.back().parameters).substr(0, 16));
  return text;
}

FirstRankLoad first_rank_load(const EpochReport& report) {
  double work = 0, memory = 0;
  for (std::size_t rank = 1; rank < report.ranks.size(); ++rank) {
    work += report.ranks[rank].processor_seconds;
    memory += static_cast<double>(report.ranks[rank].peak_bytes);
  }
  if (work <= 0 || memory <= 0) return {};
  const auto others = static_cast<double>(report.ranks.size() - 1);
  const auto& first = report.ranks.front();
  return {first.processor_seconds * others / work,
          static_cast<double>(first.peak_bytes) * others / memory};
}

std::string rank_table(const EpochReport& report) {
  if (report.ranks.size() < 2) return "";
  std::string text = fmt::format(
      "# the ranks in epoch {} (measured): working, in a collective or waiting for one, the "
      "processor time of both;\n"
      "# memory at the most, of which parameters, gradients, optimizer, gradients on their way\n"
      "  rank  work s  wait s  processor s  peak memory  parameters  gradients  optimizer    "
      "staging\n",
      report.epoch);
  for (std::size_t rank = 0; rank < report.ranks.size(); ++rank) {
    const auto& its = report.ranks[rank];
    const auto& memory = its.memory;
    text += fmt::format("{:6d} {:7.2f} {:7.2f} {:12.2f}  {:>11} {:>11} {:>10} {:>10} {:>10}\n",
                        rank, worked(its.times), its.times[Part::exposed], its.processor_seconds,
                        format_bytes(its.peak_bytes), format_bytes(memory.parameters),
                        format_bytes(memory.gradients), format_bytes(memory.optimizer),
                        format_bytes(memory.staging));
  }
  const auto load = first_rank_load(report);
  return text + fmt::format(
                    "# rank 0 works {:.2f} x as much as the others' mean (processor time), with "
                    "{:.2f} x the "
                    "memory\n",
                    load.work, load.memory);
}

std::string balance_table(const TrainingSettings& settings,
                          const std::vector<EpochReport>& reports) {
  const auto& strategy = settings.strategy;
  if (reports.empty() || reports.back().balance.empty() ||
      (strategy.shares.empty() && strategy.slow_ranks.empty() && !settings.measured_shares))
    return "";
  std::vector<Balance> shown;
  if (settings.measured_shares) shown.push_back(reports.front().balance.front());
  shown.push_back(reports.back().balance.back());
  std::string text = fmt::format(
      "# who waits for whom (measured{})\n"
      "  shares           rank   samples  computing s  waiting s  us a sample\n",
      slowness(strategy));
  for (const Balance& balance : shown) text += rows_of(balance);
  for (const Balance& balance : shown) text += summary_of(balance);
  if (!strategy.shares.empty()) text += with_equal_shares(shown.back());
  return text;
}

std::string json_report(const TrainingSettings& settings, const Dataset& data, int ranks,
                        const EngineFacts& engine, const std::vector<EpochReport>& reports) {
  const auto& model = settings.model;
  const auto& strategy = settings.strategy;
  Json epochs = Json::array();
  for (const auto& report : reports) epochs.push_back(json_of(report));
  const Json all{
      {"kind", "training"},
      {"times", "measured"},
      {"model", to_string(model.model)},
      {"width", width_of(model)},
      {"parameters", tensors_of(model).parameters.numbers()},
      {"precision", to_string(model.precision)},
      {"data", data.name},
      {"training_samples", data.training.count()},
      {"test_samples", data.test.count()},
      {"ranks", ranks},
      {"backend", to_string(settings.backend.kind)},
      {"devices", devices_of(settings.backend, ranks)},
      {"strategy", to_string(strategy.kind)},
      {"algorithm", strategy.algorithm.empty() ? "auto" : strategy.algorithm},
      {"bfloat16_wire", strategy.narrow_wire},
      {"overlap", strategy.overlap},
      {"micro_batches",
       strategy.kind == StrategyKind::pipeline ? Json(strategy.micro_batches) : Json(nullptr)},
      {"slowed_to_bytes_per_second", settings.wire},
      {"zero_stage",
       strategy.kind == StrategyKind::sharded ? Json(strategy.zero_stage) : Json(nullptr)},
      {"synchronised_batch_norm", settings.synchronised_batch_norm},
      {"shares", strategy.shares},
      {"measured_shares", settings.measured_shares},
      {"slowed_ranks", strategy.slow_ranks},
      {"batch", settings.batch},
      {"pieces", settings.pieces},
      {"learning_rate", settings.rate},
      {"warmup_epochs", settings.warmup_epochs},
      {"momentum", settings.momentum},
      {"decay", settings.decay},
      {"seed", model.seed},
      {"engine", engine.name},
      {"engine_settings", engine.settings},
      {"threads_per_rank", settings.threads},
      {"epochs", epochs}};
  return dump_json(all);
}

}  // namespace ringside::trainer
