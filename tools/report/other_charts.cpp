// SPDX-License-Identifier: MIT
/// Charts of training, of a plan's time line, and of what was compared.
#include <fmt/format.h>

#include <algorithm>

#include "ringside/base/text.hpp"
#include "ringside/tools/report/charts.hpp"

namespace ringside::report {
namespace {

/// The parts of a step have their colours in all charts; what hides behind the computation is
/// beside it, since it costs no time of its own.
int colour_of_part(std::string_view name) {
  constexpr auto parts = std::to_array<std::string_view>(
      {"data", "forward", "backward", "exposed", "hidden", "update"});
  constexpr auto colours = std::to_array<int>({7, 5, 0, 1, 4, 2});
  const auto* found = std::ranges::find(parts, name);
  return found == parts.end() ? 6 : colours[static_cast<std::size_t>(found - parts.begin())];
}

std::string words_of_part(const std::string& name) {
  if (name == "exposed") return "communication, exposed";
  if (name == "hidden") return "communication, hidden (beside the backward pass)";
  std::string words = name;
  std::ranges::replace(words, '_', ' ');
  return words;
}

std::string row_name(const TrainingRow& row) {
  const std::string more = row.more.empty() ? "" : ", " + row.more;
  if (row.strategy == "single") return "single, 1 rank" + more;
  return fmt::format("{}, {}, {} ranks{}", row.strategy, row.algorithm, row.ranks, more);
}

std::string of(const TrainingComparison& comparison) {
  return comparison.title.empty() ? "" : ": " + comparison.title;
}

/// Parts by name, with a value for every category.
Json stacked(const std::vector<const Parts*>& bars) {
  std::vector<std::string> names;
  for (const auto* bar : bars)
    for (const auto& [name, value] : *bar)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  Json list = Json::array();
  for (const auto& name : names) {
    Json values = Json::array();
    for (const auto* bar : bars) {
      const auto found = std::ranges::find(*bar, name, &Parts::value_type::first);
      values.push_back(found == bar->end() ? 0.0 : found->second);
    }
    list.push_back({{"label", words_of_part(name)},
                    {"colour", colour_of_part(name)},
                    {"beside", name == "hidden"},
                    {"values", std::move(values)}});
  }
  return list;
}

Json bars_chart(const std::string& title, const std::string& x_title, const std::string& better) {
  return {{"kind", "bars"},
          {"title", title},
          {"figures", Json::array({"measured"})},
          {"x_title", x_title},
          {"better", better}};
}

}  // namespace

Json speedup_chart(const TrainingComparison& comparison, Figures figures) {
  Json chart = bars_chart(
      "Training speedup over one rank" + of(comparison), "times as many samples per second",
      figures == Figures::measured
          ? "more is better; whiskers: the rounds' range; |: as many times as ranks"
          : "more is better; |: as many times as ranks");
  chart["figures"] = Json::array({to_string(figures)});
  Json values = Json::array(), whiskers = Json::array(), ideal = Json::array();
  chart["categories"] = Json::array();
  for (const auto& row : comparison.rows) {
    chart["categories"].push_back(row_name(row));
    values.push_back(row.speedup);
    const auto range = row.speedups.empty()
                           ? std::ranges::min_max_result<double>{row.speedup, row.speedup}
                           : std::ranges::minmax(row.speedups);
    whiskers.push_back(Json::array({range.min, range.max}));
    ideal.push_back(row.ranks);
  }
  chart["stacked"] = false;
  chart["parts"] = Json::array({{{"label", "speedup"},
                                 {"colour", 0},
                                 {"beside", false},
                                 {"striped", figures != Figures::measured},
                                 {"values", std::move(values)}}});
  chart["whiskers"] = std::move(whiskers);
  chart["references"] = std::move(ideal);
  chart["reference_label"] = "bound: as many times as ranks";
  return chart;
}

Json step_chart(const TrainingComparison& comparison, Figures figures) {
  Json chart = bars_chart("Where the time of a step goes" + of(comparison),
                          "milliseconds of a step, mean of the ranks", "shorter is better");
  chart["figures"] = Json::array({to_string(figures)});
  std::vector<const Parts*> bars;
  chart["categories"] = Json::array();
  for (const auto& row : comparison.rows) {
    chart["categories"].push_back(row_name(row));
    bars.push_back(&row.parts);
  }
  chart["stacked"] = true;
  chart["parts"] = stacked(bars);
  for (auto& part : chart["parts"]) part["striped"] = figures != Figures::measured;
  return chart;
}

Json accuracy_chart(const TrainingRun& run) {
  struct Line {
    const char* label;
    int colour, marker;
    double (*value)(const Epoch&);
  };
  Json series = Json::array();
  const auto add = [&](const Line& line) {
    Json points = Json::array();
    for (const auto& epoch : run.epochs) {
      const double value = line.value(epoch);
      if (value >= 0) points.push_back(Json::array({epoch.number, value, nullptr, nullptr, ""}));
    }
    if (!points.empty())
      series.push_back({{"label", line.label},
                        {"figures", "measured"},
                        {"detail", ""},
                        {"dash", "solid"},
                        {"on", true},
                        {"colour", line.colour},
                        {"marker", line.marker},
                        {"hollow", false},
                        {"points", std::move(points)}});
  };
  add({"loss", 1, 0, [](const Epoch& epoch) { return epoch.loss; }});
  add({"accuracy, training", 0, 1, [](const Epoch& epoch) { return epoch.accuracy; }});
  add({"accuracy, test", 2, 2,
       [](const Epoch& epoch) { return epoch.test_accuracy.value_or(-1); }});
  return {{"kind", "lines"},
          {"title", "Learning: " + run.title},
          {"figures", Json::array({"measured"})},
          {"x", "count"},
          {"y", "number"},
          {"x_title", "epoch"},
          {"y_title", "loss; accuracy"},
          {"better", ""},
          {"series", std::move(series)}};
}

Json epoch_chart(const TrainingRun& run) {
  Json chart = bars_chart("Where the time of a step goes: " + run.title,
                          "milliseconds of a step, mean of the ranks", "shorter is better");
  std::vector<const Parts*> bars;
  chart["categories"] = Json::array();
  for (const auto& epoch : run.epochs) {
    chart["categories"].push_back(
        fmt::format("epoch {}: {:.0f} samples/s", epoch.number, epoch.samples_per_second));
    bars.push_back(&epoch.parts);
  }
  chart["stacked"] = true;
  chart["parts"] = stacked(bars);
  return chart;
}

Json timeline_chart(const Timeline& timeline) {
  Json spans = Json::array();
  std::vector<std::string> kinds;
  for (const auto& span : timeline.spans) {
    if (std::ranges::find(kinds, span.kind) == kinds.end()) kinds.push_back(span.kind);
    spans.push_back(Json::array({span.row, span.begin_us, span.end_us, span.kind, span.what}));
  }
  Json colours = Json::object();
  for (const auto& kind : kinds)
    colours[kind] = kind == "issue" ? 7 : kind == "copy" ? 5 : kind == "fold" ? 1 : 6;
  return {
      {"kind", "spans"},
      {"title", timeline.title.empty() ? "Time line of a plan" : "Time line: " + timeline.title},
      {"figures", Json::array({"simulated"})},
      {"x_title", "time"},
      {"better", ""},
      {"rows", timeline.rows},
      {"colours", std::move(colours)},
      {"spans", std::move(spans)},
      {"left_out", timeline.left_out}};
}

Json change_chart(const RunChanges& changes) {
  Json chart = bars_chart("New time over old time", "times as long",
                          "below 1 the new run is faster; whiskers: confidence interval");
  chart["categories"] = Json::array();
  Json values = Json::array(), whiskers = Json::array(), ones = Json::array();
  for (const auto& row : changes.rows) {
    if (!row.ratio) continue;
    chart["categories"].push_back(fmt::format(
        "{}, {} ranks, {}, {} {}: {}", row.call.collective, row.call.ranks, row.algorithm,
        format_bytes(row.bytes), row.call.in_place ? "in place" : "out of place", row.verdict));
    values.push_back(*row.ratio);
    whiskers.push_back(row.low && row.high ? Json::array({*row.low, *row.high}) : Json(nullptr));
    ones.push_back(1);
  }
  chart["stacked"] = false;
  chart["parts"] = Json::array({{{"label", "new over old"},
                                 {"colour", 0},
                                 {"beside", false},
                                 {"values", std::move(values)}}});
  chart["whiskers"] = std::move(whiskers);
  chart["references"] = std::move(ones);
  chart["reference_label"] = "as long";
  return chart;
}

Json compared_chart(const Diagnosis& diagnosis) {
  Json chart = bars_chart("Measured beside predicted", "GB/s", "");
  chart["figures"] = Json::array({"measured", "predicted"});
  chart["categories"] = Json::array();
  Json measured = Json::array(), predicted = Json::array();
  for (const auto& each : diagnosis.compared) {
    chart["categories"].push_back(each.what);
    measured.push_back(each.measured);
    predicted.push_back(each.predicted);
  }
  chart["stacked"] = false;
  chart["parts"] = Json::array(
      {{{"label", "measured"}, {"colour", 0}, {"beside", false}, {"values", std::move(measured)}},
       {{"label", "predicted of this topology"},
        {"colour", 4},
        {"beside", false},
        {"striped", true},
        {"values", std::move(predicted)}}});
  return chart;
}

}  // namespace ringside::report
