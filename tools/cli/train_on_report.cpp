// SPDX-License-Identifier: MIT
#include "ringside/tools/cli/train_on_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "ringside/base/json_write.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/executors/simulated/uncertainty.hpp"
#include "ringside/tools/cli/report_text.hpp"
#include "ringside/trainer/report.hpp"

namespace ringside::cli {
namespace {

using trainer::PredictedRow;
using trainer::PredictedStep;
using trainer::PredictedTraining;
using trainer::TrainingWay;

constexpr double percent = 100, milli = 1e-3;

/// Four digits, or as many as stand before the point.
std::string table_figure(double value) {
  return fmt::format("{:.{}f}", value, value < 100 ? 2 : value < 1000 ? 1 : 0);
}

/// Samples per second; where nobody told how many samples a pass has, passes.
double rate_of(const PredictedTraining& training, const PredictedStep& step) {
  return step.batches * (training.samples > 0 ? training.samples : 1) / step.seconds();
}

std::string name_of(const TrainingWay& way) {
  return way.ranks == 1 ? "-" : trainer::algorithm_name(way);
}

/// What is trained, on what, and how it is known.
std::string heading(const TrainOnReport& report) {
  const PredictedTraining& training = report.training;
  const trainer::ModelProfile& profile = training.profile;
  const trainer::DeviceSpeed& speed = training.speed;
  std::string text = "# predicted: training on a machine that need not be here\n" +
                     machine_heading(*report.machine);
  text += fmt::format("# model: {}, {} of gradients{}{}\n", profile.name,
                      trainer::decimal_bytes(report.rows.front().step.gradient_bytes),
                      training.narrow_wire ? " as bfloat16" : "",
                      training.overlap ? "" : ", not overlapped");
  text += fmt::format(
      "# one device: {} for its {}, {:.0f} % of that the backward pass{}: {}\n",
      time_text(speed.seconds),
      training.samples > 0 ? fmt::format("{:.0f} samples", training.samples) : std::string("batch"),
      percent * speed.backward_share,
      speed.fixed > 0 ? fmt::format(", {} whatever the samples", time_text(speed.fixed)) : "",
      speed.source);
  text += fmt::format("# gradients are ready: {}\n", profile.how);
  text += training.split ? "# all devices share one device's samples (strong scaling)"
                         : "# every device has so many samples (weak scaling)";
  if (training.passes > 1)
    text +=
        fmt::format("; gradients of {} passes are added up before they travel", training.passes);
  return text + "\n";
}

std::string rows_text(const TrainOnReport& report) {
  std::size_t width = 9;
  for (const auto& row : report.rows) width = std::max(width, name_of(row.way).size());
  std::string text = fmt::format(
      "# predicted; ms of a step; hidden: beside the backward pass\n"
      "{:<14} {:<{}} {:>5} {:>9} {:>9} {:>9} {:>10} {:>8} {:>10}\n",
      "strategy", "algorithm", width, "ranks", "step", "exposed", "hidden",
      report.training.samples > 0 ? "samples/s" : "batches/s", "speedup", "efficiency");
  for (const PredictedRow& row : report.rows)
    text += fmt::format(
        "{:<14} {:<{}} {:>5} {:>9} {:>9} {:>9} {:>10} {:>8.2f} {:>8.1f} %\n",
        trainer::name_of(row.way.kind, report.training.zero_stage), name_of(row.way), width,
        row.way.ranks, table_figure(row.step.seconds() / milli),
        table_figure(row.step.calls.exposed / milli), table_figure(row.step.calls.hidden / milli),
        table_figure(rate_of(report.training, row.step)), row.speedup, percent * row.efficiency);
  return text;
}

std::string what_ifs_text(const TrainOnReport& report) {
  if (report.what_ifs.empty()) return {};
  const TrainingWay& way = report.what_ifs.front().row.way;
  std::size_t width = 0;
  for (const auto& what_if : report.what_ifs) width = std::max(width, what_if.what.size());
  std::string text = fmt::format(
      "\n# predicted, what if: {} by {} on {} ranks\n{:<{}} {:>9} {:>9} {:>9} {:>10} {:>8} "
      "{:>10}\n",
      trainer::name_of(way.kind, report.training.zero_stage), trainer::algorithm_name(way),
      way.ranks, "", width, "step", "exposed", "hidden",
      report.training.samples > 0 ? "samples/s" : "batches/s", "speedup", "efficiency");
  for (const auto& what_if : report.what_ifs) {
    const PredictedStep& step = what_if.row.step;
    text += fmt::format(
        "{:<{}} {:>9} {:>9} {:>9} {:>10} {:>8.2f} {:>8.1f} %\n", what_if.what, width,
        table_figure(step.seconds() / milli), table_figure(step.calls.exposed / milli),
        table_figure(step.calls.hidden / milli), table_figure(rate_of(report.training, step)),
        what_if.row.speedup, percent * what_if.row.efficiency);
  }
  return text;
}

/// Lines that say how far the figures can be trusted.
std::vector<std::string> notes_of(const TrainOnReport& report) {
  std::vector<std::string> notes;
  if (report.range) {
    const PredictedStep& step = report.what_ifs.front().row.step;
    const auto least = time_text(report.range->least), most = time_text(report.range->most);
    notes.push_back(fmt::format(
        "{} of {} calls of the fastest move less than {}, where times are known within a factor of "
        "{:.0f}: {}",
        step.small, step.count, format_bytes(least_certain_bytes), uncertainty_of_times,
        least == most ? "its step takes as long either way"
                      : fmt::format("its step takes {} to {}", least, most)));
  }
  if (report.through_host)
    notes.emplace_back(
        "without peer access these plans copy through the host's memory op by op; NCCL's staged "
        "rings (--algorithm nccl) go on inside a kernel and reach more");
  notes.emplace_back(
      "computing and communication are taken not to slow each other down, and all devices to be "
      "equally fast");
  return notes;
}

/// What was taken where the choice was left to the twin.
std::string chosen_text(const TrainOnReport& report) {
  std::string text;
  for (const PredictedRow& row : report.rows)
    if (row.way.ranks > 1 && row.way.algorithm.empty() &&
        row.way.kind == trainer::StrategyKind::distributed)
      text += fmt::format("# auto on {} ranks, distributed: {}\n", row.way.ranks,
                          fmt::join(row.step.specs, ", "));
  return text;
}

// --- for programs --------------------------------------------------------------------------------

Json row_json(const PredictedTraining& training, const PredictedRow& row) {
  const PredictedStep& step = row.step;
  Json json = {{"strategy", to_string(row.way.kind)},
               {"algorithm", name_of(row.way)},
               {"ranks", row.way.ranks},
               {"step_seconds", step.seconds()},
               {"computing_seconds", step.computing},
               {"backward_seconds", step.backward},
               {"communication_seconds", step.calls.communication},
               {"hidden_seconds", step.calls.hidden},
               {"exposed_seconds", step.calls.exposed},
               {"latency_and_issuing_seconds", step.waiting},
               {"gradient_bytes", step.gradient_bytes},
               {"calls", step.count},
               {"small_calls", step.small},
               {"specs", step.specs}};
  json[training.samples > 0 ? "samples_per_second" : "batches_per_second"] =
      rate_of(training, step);
  json["speedup"] = row.speedup;
  json["efficiency"] = row.efficiency;
  return json;
}

}  // namespace

std::string train_on_text(const TrainOnReport& report) {
  std::string text = heading(report) + rows_text(report) + chosen_text(report);
  for (const auto& line : report.explanation) text += fmt::format("# {}\n", line);
  text += what_ifs_text(report);
  for (const auto& line : notes_of(report)) text += fmt::format("# note: {}\n", line);
  return text;
}

std::string train_on_json(const TrainOnReport& report) {
  const PredictedTraining& training = report.training;
  const auto& gradients = training.profile.gradients;
  Json ready = Json::array();
  for (std::size_t tensor = 0; tensor < gradients.size(); ++tensor)
    ready.push_back({{"tensor", gradients[tensor].name},
                     {"numbers", gradients[tensor].elements()},
                     {"ready", training.profile.ready[tensor]}});
  Json rows = Json::array(), what_ifs = Json::array();
  for (const auto& row : report.rows) rows.push_back(row_json(training, row));
  for (const auto& what_if : report.what_ifs) {
    Json json = {{"what", what_if.what}};
    json.update(row_json(training, what_if.row));
    what_ifs.push_back(std::move(json));
  }
  Json json = {{"kind", "predicted"},
               {"machine", report.machine->name},
               {"link_model", report.machine->machine.model().name},
               {"changes", report.machine->changes},
               {"assumed", assumed_words(*report.machine)},
               {"model", training.profile.name},
               {"parameters", gradients.numbers()},
               {"samples", training.samples},
               {"scaling", training.split ? "strong" : "weak"},
               {"passes", training.passes},
               {"bfloat16_wire", training.narrow_wire},
               {"overlap", training.overlap},
               {"zero_stage", training.zero_stage},
               {"device_step_seconds", training.speed.seconds},
               {"device_fixed_seconds", training.speed.fixed},
               {"backward_share", training.speed.backward_share},
               {"device_source", training.speed.source},
               {"ready_source", training.profile.how},
               {"gradients", std::move(ready)},
               {"rows", std::move(rows)},
               {"what_ifs", std::move(what_ifs)},
               {"explanation", report.explanation},
               {"notes", notes_of(report)}};
  if (report.range) {
    json["fastest_step_seconds_least"] = report.range->least;
    json["fastest_step_seconds_most"] = report.range->most;
  }
  return dump_json(json);
}

}  // namespace ringside::cli
