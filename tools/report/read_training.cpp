// SPDX-License-Identifier: MIT
/// `ringside train --format json`, alone and with --compare.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ringside/collectives/request.hpp"
#include "ringside/tools/report/readers.hpp"

namespace ringside::report {
namespace {

constexpr double ms = 1e3;

/// In the order in which a step has them; what is not known here comes behind.
Parts in_order(const Parts& parts) {
  Parts ordered;
  const auto there = [](const Parts& among, std::string_view name) {
    return std::ranges::find(among, name, &Parts::value_type::first);
  };
  for (const char* name : {"data", "forward", "backward", "exposed", "hidden", "update"})
    if (const auto found = there(parts, name); found != parts.end()) ordered.push_back(*found);
  for (const auto& part : parts)
    if (there(ordered, part.first) == ordered.end()) ordered.push_back(part);
  return ordered;
}

/// Milliseconds of a step by part: mean over the ranks.
Parts parts_of(const JsonValue& epoch, std::int64_t steps) {
  Parts parts;
  const auto ranks = epoch["ranks"].items();
  for (const auto& rank : ranks)
    for (const auto& [name, seconds] : rank["seconds"].fields()) {
      const auto found = std::ranges::find(parts, name, &Parts::value_type::first);
      double& sum = found != parts.end() ? found->second : parts.emplace_back(name, 0).second;
      sum += amount(seconds);
    }
  const auto shared =
      static_cast<double>(ranks.size()) * static_cast<double>(std::max<std::int64_t>(steps, 1));
  for (auto& [name, time] : parts) time *= ms / std::max(shared, 1.0);
  return in_order(parts);
}

TrainingRow predicted_row(const JsonValue& item) {
  TrainingRow row{.strategy = item["strategy"].text(),
                  .algorithm = item["algorithm"].text(),
                  .more = text_in(item, "what"),
                  .ranks = count_in(item, "ranks", 1, max_ranks),
                  .samples_per_second = number_in(item, "samples_per_second").value_or(0),
                  .speedup = amount(item["speedup"], true)};
  const double computing = amount(item["computing_seconds"]),
               backward = amount(item["backward_seconds"]);
  row.parts = {{"forward", ms * std::max(computing - backward, 0.0)},
               {"backward", ms * backward},
               {"exposed", ms * amount(item["exposed_seconds"])},
               {"hidden", ms * amount(item["hidden_seconds"])}};
  return row;
}

}  // namespace

void read_predicted_training(const JsonValue& root, const std::string& file, Runs& runs) {
  Source source{.file = file, .kind = "training on another machine", .figures = Figures::predicted};
  const std::string& machine = root["machine"].text();
  source.facts = {{"model", root["model"].text()},
                  {"machine", machine},
                  {"step of one device", text_in(root, "device_source")}};
  for (const auto& change : texts_in(root, "changes")) source.facts.emplace_back("changed", change);
  for (const auto& word : texts_in(root, "assumed")) source.notes.push_back("assumed: " + word);
  for (const auto& note : texts_in(root, "notes")) source.notes.push_back(note);
  TrainingComparison comparison{
      .source = 0, .title = fmt::format("{} on {}", root["model"].text(), machine), .rows = {}};
  (void)root["rows"].size(1, most_entries);
  for (const auto& item : root["rows"].items()) comparison.rows.push_back(predicted_row(item));
  // The fastest of these with other settings; the first is itself again.
  if (const auto what_ifs = present(root, "what_ifs"))
    for (bool first = true; const auto& item : what_ifs->items())
      if (!std::exchange(first, false)) comparison.rows.push_back(predicted_row(item));
  comparison.source = add_source(runs, std::move(source));
  runs.comparisons.push_back(std::move(comparison));
}

void read_training(const JsonValue& root, const std::string& file, Runs& runs) {
  Source source{.file = file, .kind = "training"};
  const int ranks = count_in(root, "ranks", 1, max_ranks);
  const std::string title =
      fmt::format("{}, {}, {} on {} rank{}", root["model"].text(), root["strategy"].text(),
                  root["algorithm"].text(), ranks, ranks == 1 ? "" : "s");
  source.facts = {{"what", title},
                  {"data", text_in(root, "data")},
                  {"batch", fmt::format("{}", root["batch"].integer(1))},
                  {"computed by", text_in(root, "engine")},
                  {"backend", text_in(root, "backend")}};
  if (const auto wire = number_in(root, "slowed_to_bytes_per_second"); wire && *wire > 0)
    source.notes.push_back(
        fmt::format("collectives were slowed on purpose to {:.3g} GB/s", *wire / 1e9));
  TrainingRun run{.source = add_source(runs, std::move(source)), .title = title};
  (void)root["epochs"].size(0, most_entries);
  for (const auto& item : root["epochs"].items()) {
    Epoch epoch{.number = count_in(item, "epoch", 0, 1 << 30),
                .seconds = amount(item["seconds"]),
                .samples_per_second = amount(item["samples_per_second"]),
                .loss = number_in(item, "loss").value_or(0),
                .accuracy = number_in(item, "accuracy").value_or(0)};
    epoch.test_accuracy = number_in(item, "test_accuracy");
    epoch.parts = parts_of(item, item["steps"].integer(0));
    run.epochs.push_back(std::move(epoch));
  }
  runs.trainings.push_back(std::move(run));
}

void read_training_comparison(const JsonValue& root, const std::string& file, Runs& runs) {
  TrainingComparison comparison{.source = add_source(runs, {.file = file,
                                                            .kind = "comparison of trainings",
                                                            .figures = Figures::measured,
                                                            .facts = {},
                                                            .notes = {}})};
  (void)root["rows"].size(1, most_entries);
  for (const auto& item : root["rows"].items()) {
    TrainingRow row{.strategy = item["strategy"].text(),
                    .algorithm = item["algorithm"].text(),
                    .ranks = count_in(item, "ranks", 1, max_ranks),
                    .samples_per_second = amount(item["samples_per_second"], true),
                    .speedup = amount(item["speedup"], true)};
    for (const auto& ratio : item["speedups"].items()) row.speedups.push_back(amount(ratio));
    if (const auto pieces = number_in(item, "micro_batches");
        pieces && *pieces > 1 && row.strategy == "pipeline")
      row.more = fmt::format("{:g} micro-batches", *pieces);
    for (const auto& [name, time] : item["step_milliseconds"].fields())
      if (time.is_number()) row.parts.emplace_back(name, amount(time));
    row.parts = in_order(row.parts);
    comparison.rows.push_back(std::move(row));
  }
  for (const char* key : {"model", "data", "engine"})
    if (const auto text = present(root, key); text && text->is_string())
      runs.sources[comparison.source].facts.emplace_back(key, text->text());
  comparison.title = text_in(root, "model");
  runs.comparisons.push_back(std::move(comparison));
}

}  // namespace ringside::report
