// SPDX-License-Identifier: MIT
#include "ringside/collectives/selector/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "ringside/base/error.hpp"
#include "ringside/base/json.hpp"
#include "ringside/base/json_write.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/spec.hpp"

namespace ringside {
namespace {

// Far above what a tuner measures: a table is looked through from end to end.
constexpr std::size_t most_rows = 10'000;
constexpr std::size_t most_ranges = 1'000;
constexpr std::size_t most_times = 1'000;
constexpr int most_cores = 65'536;
constexpr std::int64_t most_bytes = std::int64_t{1} << 50;
constexpr JsonLimits limits = {.bytes = std::size_t{16} << 20, .depth = 10, .values = 2'000'000};

std::string read_spec(const JsonValue& value) {
  try {
    (void)parse_spec(value.text());
  } catch (const Error& error) {
    value.fail(error.what());
  }
  if (value.text() == "auto" || value.text() == "all")
    value.fail(fmt::format("expected an algorithm, got {}", quote(value.text())));
  return value.text();
}

std::vector<TuningRange> read_ranges(const JsonValue& list) {
  (void)list.size(1, most_ranges);
  std::vector<TuningRange> ranges;
  for (const auto& item : list.items()) {
    item.only({"from", "spec"});
    const auto from = static_cast<std::uint64_t>(item["from"].integer(0, most_bytes));
    if (ranges.empty() ? from != 0 : from <= ranges.back().from)
      item["from"].fail(ranges.empty() ? "the first choice is from 0 bytes on"
                                       : "choices are listed by ascending size");
    ranges.push_back({from, read_spec(item["spec"])});
  }
  return ranges;
}

std::vector<MeasuredSize> read_measured(const JsonValue& list) {
  (void)list.size(0, most_ranges);
  std::vector<MeasuredSize> sizes;
  for (const auto& item : list.items()) {
    item.only({"bytes", "us"});
    MeasuredSize size;
    size.bytes = static_cast<std::uint64_t>(item["bytes"].integer(0, most_bytes));
    if (!sizes.empty() && size.bytes <= sizes.back().bytes)
      item["bytes"].fail("measured sizes are listed ascending");
    (void)item["us"].size(1, most_times);
    for (const auto& pair : item["us"].items()) {
      (void)pair.size(2, 2);
      const auto parts = pair.items();
      const double time = parts[1].number();
      if (time <= 0) parts[1].fail("expected a time above 0");
      size.times.push_back({read_spec(parts[0]), time});
    }
    sizes.push_back(std::move(size));
  }
  return sizes;
}

TuningRow read_row(const JsonValue& item) {
  item.only({"backend", "collective", "ranks", "cores", "placement", "choices", "measured"});
  TuningRow row;
  row.backend = item["backend"].text();
  const auto collective = parse_collective(item["collective"].text());
  if (!collective || *collective == Collective::barrier)
    item["collective"].fail(fmt::format("expected a collective that moves data, got {}",
                                        quote(item["collective"].text())));
  row.collective = *collective;
  row.ranks = static_cast<int>(item["ranks"].integer(1, max_ranks));
  row.cores = static_cast<int>(item["cores"].integer(1, most_cores));
  if (const auto placement = item.find("placement")) {
    if (!chooses_by_placement(row.collective))
      placement->fail(
          fmt::format("a choice for {} holds for both placements", to_string(row.collective)));
    row.in_place = placement->choice({"out_of_place", "in_place"}) == 1;
  }
  row.ranges = read_ranges(item["choices"]);
  if (const auto measured = item.find("measured")) row.measured = read_measured(*measured);
  return row;
}

Json to_json(const TuningRow& row) {
  Json json = {{"backend", row.backend},
               {"collective", to_string(row.collective)},
               {"ranks", row.ranks},
               {"cores", row.cores}};
  if (row.in_place) json["placement"] = *row.in_place ? "in_place" : "out_of_place";
  return json;
}

/// A row with a line per choice and per measured size.
std::string row_text(const TuningRow& row) {
  std::string text(trim(dump_json(to_json(row), -1)));
  text.pop_back();  // the brace
  text = "  " + text + ",\n   \"choices\": [";
  const char* joint = "\n";
  for (const auto& range : row.ranges) {
    const Json json = {{"from", range.from}, {"spec", range.spec}};
    text += fmt::format("{}    {}", joint, trim(dump_json(json, -1)));
    joint = ",\n";
  }
  text += "],\n   \"measured\": [";
  joint = "\n";
  for (const auto& size : row.measured) {
    Json times = Json::array();
    for (const auto& time : size.times) times.push_back({time.spec, time.microseconds});
    const Json json = {{"bytes", size.bytes}, {"us", std::move(times)}};
    text += fmt::format("{}    {}", joint, trim(dump_json(json, -1)));
    joint = ",\n";
  }
  return text + "]}";
}

/// Throws if the spec cannot serve the row's requests. A plan file is read where it is used.
void check_spec(const TuningRow& row, const std::string& spec) {
  if (is_plan_file(spec)) return;
  for (const bool in_place : {false, true}) {
    if (row.in_place.value_or(in_place) != in_place) continue;
    if (in_place && row.collective == Collective::all_to_all) continue;
    (void)PlanStream(parse_spec(spec), {row.collective, row.ranks, 0, in_place});
  }
}

}  // namespace

std::size_t TuningRow::range_of(std::uint64_t bytes) const {
  const auto next = std::upper_bound(
      ranges.begin(), ranges.end(), bytes,
      [](std::uint64_t size, const TuningRange& range) { return size < range.from; });
  return static_cast<std::size_t>(next - ranges.begin()) - 1;
}

std::string tuning_to_json(const TuningTable& table) {
  const Json origin = {{"machine", table.origin.machine},
                       {"date", table.origin.date},
                       {"commit", table.origin.commit},
                       {"measured", table.origin.measured}};
  std::string text = fmt::format("{{\"ringside_tuning\": {},\n \"origin\": {},\n \"rows\": [",
                                 tuning_json_version, trim(dump_json(origin, -1)));
  const char* joint = "\n";
  for (const auto& row : table.rows) {
    text += joint + row_text(row);
    joint = ",\n";
  }
  return text + "]}\n";
}

TuningTable tuning_from_json(std::string_view text, const std::string& name) {
  const JsonDocument document(text, name, limits);
  const JsonValue root = document.root();
  if (!root.is_object() || !root.find("ringside_tuning"))
    root.fail("this is no tuning table: it has no field \"ringside_tuning\"");
  const JsonValue version = root["ringside_tuning"];
  if (version.integer() != tuning_json_version)
    version.fail(fmt::format("version {} is not known: this library reads version {}",
                             version.integer(), tuning_json_version));
  root.only({"ringside_tuning", "origin", "rows"});

  TuningTable table;
  table.name = name;
  const JsonValue origin = root["origin"];
  origin.only({"machine", "date", "commit", "measured"});
  table.origin = {origin["machine"].text(), origin["date"].text(), origin["commit"].text(),
                  origin["measured"].text()};

  (void)root["rows"].size(0, most_rows);
  std::set<std::tuple<std::string, Collective, int, int, std::optional<bool>>> known;
  for (const auto& item : root["rows"].items()) {
    TuningRow row = read_row(item);
    if (!known.insert({row.backend, row.collective, row.ranks, row.cores, row.in_place}).second)
      item.fail("an earlier row is for the same backend, collective, ranks, cores and placement");
    table.rows.push_back(std::move(row));
  }
  return table;
}

void check_algorithms(const TuningTable& table) {
  for (const auto& row : table.rows)
    for (const auto& range : row.ranges) try {
        check_spec(row, range.spec);
      } catch (const Error& error) {
        throw Error(ErrorCode::bad_input,
                    fmt::format("{}: {}, {} ranks: {}", table.name, to_string(row.collective),
                                row.ranks, error.what()));
      }
}

}  // namespace ringside
