// SPDX-License-Identifier: MIT
/// Collective rows as JSON: `ringside bench --format json`, and what nccl-tests writes with
/// `--json`. The keys of a row are the same; ours also names collective, algorithm and ranks.
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "ringside/base/text.hpp"
#include "ringside/topology/readers/collective_rows.hpp"
#include "ringside/topology/readers/json_text.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {
namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 50;
constexpr std::int64_t most_ranks = 1 << 20;

std::optional<JsonValue> present(const JsonValue& object, std::string_view key) {
  const auto value = object.find(key);
  return value && !value->is_null() ? value : std::nullopt;
}

std::string text_of(const JsonValue& object, std::string_view key) {
  const auto value = present(object, key);
  return value ? value->text() : "";
}

/// nccl-tests writes some numbers as texts ("N/A" where it has none).
std::optional<double> number_of(const JsonValue& object, std::string_view key) {
  const auto value = present(object, key);
  if (!value) return std::nullopt;
  return value->is_string() ? parse_number(value->text()) : std::optional(value->number());
}

std::optional<CollectiveTiming> timing_of(const JsonValue& row, std::string_view placement) {
  const auto json = present(row, placement);
  if (!json) return std::nullopt;
  const auto time = number_of(*json, "time");
  if (!time) return std::nullopt;
  CollectiveTiming timing{.time_us = *time,
                          .algbw = number_of(*json, "alg_bw").value_or(0),
                          .busbw = number_of(*json, "bus_bw").value_or(0),
                          .check = ""};
  if (const auto wrong = number_of(*json, "nwrong")) timing.check = fmt::format("{:g}", *wrong);
  return timing;
}

CollectiveRow row_of(const JsonValue& json) {
  CollectiveRow row;
  row.size = static_cast<std::uint64_t>(json["size"].integer(0, most_bytes));
  if (const auto count = present(json, "count"))
    row.count = static_cast<std::uint64_t>(count->integer(0, most_bytes));
  row.type = text_of(json, "type");
  row.operation = text_of(json, "redop");
  if (const auto root = number_of(json, "root")) row.root = static_cast<int>(*root);
  row.out_of_place = timing_of(json, "out_of_place");
  row.in_place = timing_of(json, "in_place");
  row.fields = 13;
  return row;
}

/// Rows of one collective, algorithm and number of ranks are one table.
class TablesReader {
 public:
  std::vector<CollectiveRows> read(const JsonValue& root) {
    const bool ours = root.find("ringside_bench").has_value();
    if (ours && root["ringside_bench"].integer() != 1)
      root["ringside_bench"].fail("only version 1 of the format is known");
    const auto devices = listed_devices(root);
    for (const auto& json : root["results"].items()) {
      auto row = row_of(json);
      if (!row.out_of_place && !row.in_place) continue;  // not measured
      auto& table = table_of(json, ours);
      if (!ours) table.listed_ranks = devices;
      if (!ours && devices > 0) table.ranks = devices;
      table.rows.push_back(std::move(row));
    }
    return std::move(tables_);
  }

 private:
  static int listed_devices(const JsonValue& root) {
    const auto config = present(root, "config");
    const auto devices = config ? present(*config, "devices") : std::nullopt;
    return devices && devices->is_array() ? static_cast<int>(devices->items().size()) : 0;
  }

  CollectiveRows& table_of(const JsonValue& json, bool ours) {
    const auto collective = text_of(json, "collective"), algorithm = text_of(json, "algorithm");
    const auto ranks = present(json, "ranks");
    const int count = ranks ? static_cast<int>(ranks->integer(1, most_ranks)) : 0;
    const auto [at, added] =
        places_.emplace(std::tuple(collective, algorithm, count), tables_.size());
    if (added) {
      CollectiveRows table;
      table.ours = ours;
      if (!collective.empty()) table.collective = collective;
      if (!algorithm.empty()) table.algorithm = algorithm;
      if (count > 0) table.ranks = count;
      tables_.push_back(std::move(table));
    }
    return tables_[at->second];
  }

  std::vector<CollectiveRows> tables_;
  std::map<std::tuple<std::string, std::string, int>, std::size_t> places_;
};

void add_readings(const JsonSection& section, std::vector<Reading>& readings) {
  const JsonDocument document(section.json, "bench", report_limits);
  const auto results = document.root().find("results");
  if (!results || !results->is_array()) return;  // a report inside of something else
  for (auto& table : TablesReader().read(document.root()))
    readings.push_back(Reading{.reader = table.ours ? "Ringside's bench" : "nccl-tests",
                               .source = {},
                               .first_line = section.first_line,
                               .last_line = section.last_line,
                               .facts = std::move(table),
                               .findings = {}});
}

}  // namespace

std::vector<Reading> read_collective_json(const Text& text) {
  std::vector<Reading> readings;
  // Every row of either has this key, and nothing else that is read here has.
  for (const auto& section : json_sections(text, "\"out_of_place\"")) {
    const bool rows = section.json.find("\"results\"") != std::string::npos &&
                      section.json.find("\"bus_bw\"") != std::string::npos;
    if (rows) add_readings(section, readings);
  }
  return readings;
}

}  // namespace ringside
