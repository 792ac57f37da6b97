// SPDX-License-Identifier: MIT
#include "ringside/trainer/predict/what_ifs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ringside/base/text.hpp"
#include "ringside/collectives/selector/training_advice.hpp"

namespace ringside::trainer {
namespace {

using Change = WhatIf::Change;

constexpr double percent = 100;

std::string time_text(double seconds) { return format_duration(Seconds(seconds)); }
std::string percent_text(double fraction) { return fmt::format("{:.3g} %", percent * fraction); }

std::string name_of(const TrainingWay& way) {
  return fmt::format("{} by {} on {} ranks", to_string(way.kind), algorithm_name(way), way.ranks);
}

/// What the gradients of a step take, and how much of that is hidden.
std::string what_it_takes(const PredictedRow& row) {
  const PredictedStep& step = row.step;
  return fmt::format(
      "{}: {} of gradients travel in {} call{}, {} in all ({} of it latency and issuing), against "
      "a step of {} of computing with {} of backward pass; {} are hidden, {} exposed",
      name_of(row.way), decimal_bytes(step.gradient_bytes), step.count, step.count == 1 ? "" : "s",
      time_text(step.calls.communication), percent_text(step.waiting / step.calls.communication),
      time_text(step.computing), time_text(step.backward), time_text(step.calls.hidden),
      time_text(step.calls.exposed));
}

/// By how much the slowest of the rows with the same strategy and ranks is slower, and which it is.
std::string spread_of(const std::vector<PredictedRow>& rows, const PredictedRow& best) {
  const PredictedRow* slowest = &best;
  for (const PredictedRow& row : rows)
    if (row.way.kind == best.way.kind && row.way.ranks == best.way.ranks &&
        row.step.seconds() > slowest->step.seconds())
      slowest = &row;
  if (slowest == &best) return {};
  const double ratio = slowest->step.seconds() / best.step.seconds();
  return fmt::format("; by {} a step takes {} ({})", algorithm_name(slowest->way),
                     ratio < 2 ? fmt::format("{} longer", percent_text(ratio - 1))
                               : fmt::format("{:.3g} times as long", ratio),
                     time_text(slowest->step.seconds()));
}

/// Why that is so.
std::string reason(const PredictedStep& step) {
  constexpr double hardly = 0.02;
  const double exposed = step.calls.exposed / step.seconds();
  if (step.calls.communication < hardly * step.computing)
    return fmt::format("communication hardly counts: it is {} of the computing",
                       percent_text(step.calls.communication / step.computing));
  if (exposed < hardly && step.calls.hidden > 0)
    return "communication is hidden behind the backward pass, but for the last call, whose "
           "gradients are ready when it ends";
  if (step.calls.hidden == 0)
    return fmt::format("nothing is computed while gradients travel: {} of a step are exposed",
                       percent_text(exposed));
  if (step.calls.communication > step.backward)
    return fmt::format(
        "communication is {:.2g} times as long as the backward pass that could hide "
        "it: {} of a step are exposed",
        step.calls.communication / step.backward, percent_text(exposed));
  return fmt::format("what is ready late cannot be hidden: {} of a step are exposed",
                     percent_text(exposed));
}

const WhatIf* find(const std::vector<WhatIf>& all, Change change) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.change == change; });
  return found == all.end() ? nullptr : &*found;
}

std::string remedies(const PredictedTraining& training, const std::vector<WhatIf>& all) {
  constexpr double counts = 1.005;
  if (std::none_of(all.begin(), all.end(), [&](const WhatIf& one) {
        return one.row.efficiency > counts * all.front().row.efficiency;
      }))
    return "neither accumulation nor narrower gradients would make half a percent of difference";
  std::vector<std::string> parts;
  if (const auto* it = find(all, Change::accumulation))
    parts.push_back(fmt::format("accumulating {} passes raises efficiency from {} to {}",
                                training.passes * accumulated_passes,
                                percent_text(all.front().row.efficiency),
                                percent_text(it->row.efficiency)));
  if (const auto* it = find(all, Change::narrow_wire))
    parts.push_back(fmt::format(
        "bfloat16 gradients {}to {}",
        parts.empty()
            ? fmt::format("raise efficiency from {} ", percent_text(all.front().row.efficiency))
            : "",
        percent_text(it->row.efficiency)));
  if (const auto* it = find(all, Change::both))
    parts.push_back(fmt::format("both to {}", percent_text(it->row.efficiency)));
  std::string text = fmt::format("{}", fmt::join(parts, ", "));
  const double passes = passes_for_tolerable_share(all.front().row, training);
  if (passes > static_cast<double>(training.passes))
    text += fmt::format("{}{:.0f} passes would leave at most {} exposed", text.empty() ? "" : "; ",
                        passes, percent_text(tolerable_share));
  return text;
}

/// What one device's batch shared by all comes to.
std::string shared_batch(const PredictedTraining& training, const PredictedRow& row) {
  const DeviceSpeed& speed = training.speed;
  std::string text =
      fmt::format("one device's batch shared by {} devices is learned {:.2f} times as fast",
                  row.way.ranks, row.speedup);
  if (speed.fixed > 0)
    text += fmt::format(": {} of a step of {} do not become less with the samples",
                        time_text(speed.fixed), time_text(speed.seconds));
  if (row.step.calls.exposed > 0)
    text += fmt::format("{} {} of gradients take {} ({} exposed) however few samples there are",
                        speed.fixed > 0 ? ", and" : ":", decimal_bytes(row.step.gradient_bytes),
                        time_text(row.step.calls.communication), time_text(row.step.calls.exposed));
  return text;
}

}  // namespace

std::string decimal_bytes(double bytes) {
  return bytes < 1e9 ? fmt::format("{:.3g} MB", bytes / 1e6)
                     : fmt::format("{:.3g} GB", bytes / 1e9);
}

std::string algorithm_name(const TrainingWay& way) {
  return way.algorithm.empty() ? "auto" : way.algorithm;
}

const PredictedRow* best_of(const std::vector<PredictedRow>& rows) {
  const PredictedRow* best = nullptr;
  for (const PredictedRow& row : rows)
    if (row.way.ranks > 1 && (best == nullptr || row.speedup > best->speedup)) best = &row;
  return best;
}

std::vector<WhatIf> what_ifs(CallTimes& times, const PredictedTraining& training,
                             const TrainingWay& way) {
  std::vector<WhatIf> all;
  const auto add = [&](Change change, std::string what, const PredictedTraining& changed) {
    all.push_back({change, std::move(what), predict(times, changed, way)});
  };
  add(Change::none, "as above", training);
  PredictedTraining accumulated = training;
  accumulated.passes *= accumulated_passes;
  add(Change::accumulation,
      fmt::format("gradients of {} passes summed (--accumulate {})", accumulated.passes,
                  accumulated.passes),
      accumulated);
  if (!training.narrow_wire) {
    PredictedTraining narrow = training;
    narrow.narrow_wire = true;
    add(Change::narrow_wire, "gradients as bfloat16 (--wire-type bfloat16)", narrow);
    accumulated.narrow_wire = true;
    add(Change::both, "both", accumulated);
  }
  if (!training.split) {
    PredictedTraining split = training;
    split.split = true;
    add(Change::split, "one device's batch shared by all (--strong)", split);
  }
  return all;
}

double passes_for_tolerable_share(const PredictedRow& row, const PredictedTraining& training) {
  const double pass = row.step.computing / static_cast<double>(training.passes);
  return std::max(1.0, std::ceil(row.step.calls.exposed * (1 / tolerable_share - 1) / pass));
}

std::vector<std::string> explanation(const PredictedTraining& training,
                                     const std::vector<PredictedRow>& rows,
                                     const std::vector<WhatIf>& what_ifs) {
  const PredictedRow* best = best_of(rows);
  if (best == nullptr || best->step.calls.communication <= 0) return {};
  std::vector<std::string> lines = {what_it_takes(*best),
                                    reason(best->step) + spread_of(rows, *best)};
  if (!what_ifs.empty()) lines.push_back(remedies(training, what_ifs));
  if (training.split)
    lines.push_back(shared_batch(training, *best));
  else if (const auto* split = find(what_ifs, Change::split))
    lines.push_back(shared_batch(training, split->row));
  return lines;
}

}  // namespace ringside::trainer
