// SPDX-License-Identifier: MIT
/// `ringside bench --format json`, its --compare with an earlier run, and nccl-tests' JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "ringside/base/text.hpp"
#include "ringside/collectives/request.hpp"
#include "ringside/tools/report/readers.hpp"

namespace ringside::report {
namespace {

constexpr std::string_view baseline = "baseline:";
/// Fewer rounds than that say nothing of a spread between rounds.
constexpr std::size_t least_rounds = 3;
constexpr std::size_t rounds_with_quartiles = 5;

/// nccl-tests writes some numbers as texts, "N/A" where it has none.
std::optional<double> lenient_number(const JsonValue& object, std::string_view key) {
  const auto value = present(object, key);
  if (!value) return std::nullopt;
  return value->is_string() ? parse_number(value->text()) : std::optional(value->number());
}

/// The middle half of the rounds: one in which a neighbour took the cores says nothing of the
/// others. Of few rounds their range, of fewer still that of the samples.
void add_spread(const JsonValue& timing, Point& point) {
  std::vector<double> rounds;
  if (const auto list = present(timing, "round_times_us"))
    for (const auto& time : list->items())
      if (!time.is_null()) rounds.push_back(amount(time));
  if (rounds.size() < least_rounds) {
    point.least = number_in(timing, "min_us");
    point.most = number_in(timing, "p95_us");
    return;
  }
  std::ranges::sort(rounds);
  const std::size_t outer = rounds.size() < rounds_with_quartiles ? 0 : (rounds.size() + 1) / 4;
  point.least = rounds[outer];
  point.most = rounds[rounds.size() - 1 - outer];
}

std::optional<Point> point_of(const JsonValue& timing, std::uint64_t bytes) {
  const auto us = lenient_number(timing, "time");
  const auto busbw = lenient_number(timing, "bus_bw");
  if (!us || !busbw || !(*us > 0)) return std::nullopt;
  Point point{.bytes = bytes, .us = *us, .busbw = *busbw};
  add_spread(timing, point);
  point.ran = text_in(timing, "algorithm");
  return point;
}

/// Curves by call and label, in the order in which they come.
class CurveCollector {
 public:
  CurveCollector(std::size_t source, Runs& runs) : source_(source), runs_(runs) {}

  void add(const Call& call, const std::string& label, Role role, const std::string& detail,
           Point point) {
    const auto [at, is_new] = places_.emplace(std::pair(call, label), runs_.curves.size());
    if (is_new)
      runs_.curves.push_back({call,
                              {.label = label,
                               .role = role,
                               .figures = Figures::measured,
                               .source = source_,
                               .detail = detail}});
    runs_.curves[at->second].series.points.push_back(std::move(point));
  }

 private:
  std::size_t source_;
  Runs& runs_;
  std::map<std::pair<Call, std::string>, std::size_t> places_;
};

/// What the "algorithms" say of a label: of other libraries which, and what exactly was measured.
std::map<std::string, std::string> libraries_of(const JsonValue& root) {
  std::map<std::string, std::string> libraries;
  if (const auto list = present(root, "algorithms"))
    for (const auto& item : list->items())
      libraries[item["algorithm"].text()] = text_in(item, "library");
  return libraries;
}

Role role_of(const std::string& label, const std::string& library) {
  if (label.starts_with(baseline)) return Role::baseline;
  return library.empty() || library == "ringside" ? Role::ours : Role::peer;
}

constexpr auto placements =
    std::to_array<std::pair<const char*, bool>>({{"out_of_place", false}, {"in_place", true}});

Call call_of(const JsonValue& row, bool gpus) {
  return {.collective = row["collective"].text(),
          .ranks = count_in(row, "ranks", 1, max_ranks),
          .gpus = gpus,
          .type = type_name(row["type"].text()),
          .redop = row["redop"].text(),
          .root = static_cast<int>(present(row, "root") ? row["root"].integer(-1, max_ranks) : -1)};
}

void read_results(const JsonValue& root, std::size_t source, bool gpus, Runs& runs) {
  const auto libraries = libraries_of(root);
  CurveCollector collector(source, runs);
  std::uint64_t wrong = 0;
  (void)root["results"].size(0, most_entries);
  for (const auto& row : root["results"].items()) {
    Call call = call_of(row, gpus);
    const auto& label = row["algorithm"].text();
    const auto bytes = static_cast<std::uint64_t>(row["size"].integer(0));
    const auto library = libraries.find(label);
    const std::string detail = library == libraries.end() ? "" : library->second;
    for (const auto& [key, in_place] : placements) {
      const auto timing = present(row, key);
      if (!timing) continue;
      if (const auto count = number_in(*timing, "nwrong"))
        wrong += static_cast<std::uint64_t>(std::max(0.0, *count));
      call.in_place = in_place;
      if (auto point = point_of(*timing, bytes); point && bytes > 0)
        collector.add(call, label, role_of(label, detail), detail == "ringside" ? "" : detail,
                      std::move(*point));
    }
  }
  if (wrong > 0)
    runs.sources[source].notes.push_back(
        fmt::format("WRONG RESULTS: the checks found {} wrong elements", wrong));
}

void read_ratios(const JsonValue& root, std::size_t source, bool gpus, Runs& runs) {
  const auto list = present(root, "ratios");
  if (!list) return;
  std::map<std::pair<Call, std::string>, std::size_t> places;
  (void)list->size(0, most_entries);
  for (const auto& item : list->items()) {
    if (!item["fastest_of_ours"].boolean() || !present(item, "peer_time_over_ours")) continue;
    Call call{.collective = item["collective"].text(),
              .ranks = count_in(item, "ranks", 1, max_ranks),
              .gpus = gpus,
              .type = type_name(item["type"].text()),
              .redop = item["redop"].text(),
              .root = -1,
              .in_place = item["placement"].choice({"out_of_place", "in_place"}) == 1};
    const auto& peer = item["peer"].text();
    const auto [at, is_new] = places.emplace(std::pair(call, peer), runs.ratios.size());
    if (is_new) runs.ratios.push_back({.call = call, .peer = peer, .source = source});
    runs.ratios[at->second].points.push_back(
        {.bytes = static_cast<std::uint64_t>(item["size"].integer(1)),
         .ratio = amount(item["peer_time_over_ours"], true),
         .algorithm = item["algorithm"].text()});
  }
}

/// "checksum=1 inline=0": the options that were not at their default.
std::string options_in(const JsonValue& config) {
  const auto list = present(config, "options");
  if (!list) return {};
  (void)list->size(0, most_entries);
  std::vector<std::string> options;
  for (const auto& item : list->items()) {
    (void)item.size(2, 2);
    const auto pair = item.items();
    options.push_back(fmt::format("{}={}", pair[0].text(), pair[1].text()));
  }
  return join(options, " ");
}

bool on_gpus(const JsonValue& root) { return present(root, "gpus").has_value(); }

Source source_of(const JsonValue& root, const std::string& file) {
  Source source{.file = file, .kind = "benchmark"};
  const JsonValue machine = root["machine"];
  source.facts = {{"measured", text_in(root, "start_time")},
                  {"processor", fmt::format("{}, {} cores allowed", machine["processor"].text(),
                                            machine["allowed_cores"].integer())}};
  const auto config = present(root, "config");
  if (config) {
    if (const auto backend = text_in(*config, "backend"); !backend.empty())
      source.facts.emplace_back("backend", backend);
    if (const auto buffers = text_in(*config, "buffers"); !buffers.empty())
      source.facts.emplace_back("buffers", buffers);
    source.facts.emplace_back("options set", options_in(*config));
    if (const auto processes = present(*config, "processes"))
      source.facts.emplace_back("ranks are processes of", text_in(*processes, "library"));
  }
  if (const auto gpus = present(root, "gpus")) {
    std::vector<std::string> names;
    for (const auto& gpu : (*gpus)["list"].items()) names.push_back(gpu["name"].text());
    source.facts.emplace_back("GPUs", join(names, ", "));
    if ((*gpus)["virtual"].boolean()) {
      source.figures = Figures::nothing;
      source.notes.emplace_back("virtual devices: results were checked, times mean nothing");
    }
  }
  source.facts.emplace_back("version", fmt::format("{}, commit {}", machine["version"].text(),
                                                   machine["source_commit"].text()));
  if (const auto note = text_in(root, "ratios_note"); !note.empty()) source.notes.push_back(note);
  if (const auto skipped = present(root, "skipped"))
    for (const auto& item : skipped->items())
      source.notes.push_back(fmt::format("left out: {} on {} ranks: {}", item["algorithm"].text(),
                                         item["ranks"].integer(), item["reason"].text()));
  return source;
}

/// "all_reduce" of "./build/all_reduce_perf"; "" where no word says it.
std::string collective_in_words(const JsonValue& root) {
  constexpr std::string_view ending = "_perf";
  const auto words = present(root, "args");
  if (!words || !words->is_array()) return "";
  for (const auto& word : words->items()) {
    if (!word.is_string() || !word.text().ends_with(ending)) continue;
    const std::string& path = word.text();
    const auto slash = path.rfind('/');
    const auto begin = slash == std::string::npos ? 0 : slash + 1;
    auto name = path.substr(begin, path.size() - begin - ending.size());
    return name == "alltoall" ? "all_to_all" : name;
  }
  return "";
}

/// Where no word says it: the one whose bus bandwidth is that many times the other.
std::string collective_by_factor(const std::string& redop, double factor, int ranks) {
  constexpr double close = 0.02;
  const double n = ranks;
  if (redop == "none" || redop.empty())
    return std::abs(factor - 1) < close ? "broadcast" : "all_gather";
  if (std::abs(factor - 2 * (n - 1) / n) < close) return "all_reduce";
  return std::abs(factor - (n - 1) / n) < close ? "reduce_scatter" : "reduce";
}

}  // namespace

void read_bench(const JsonValue& root, const std::string& file, Runs& runs) {
  if (root["ringside_bench"].integer() != 1)
    root["ringside_bench"].fail(fmt::format("version {} is not known: this program reads 1",
                                            root["ringside_bench"].integer()));
  const auto source = add_source(runs, source_of(root, file));
  if (runs.sources[source].figures == Figures::nothing) return;
  read_results(root, source, on_gpus(root), runs);
  read_ratios(root, source, on_gpus(root), runs);
}

void read_nccl_tests(const JsonValue& root, const std::string& file, Runs& runs) {
  Source source{.file = file, .kind = "nccl-tests"};
  if (const auto start = text_in(root, "start_time"); !start.empty())
    source.facts.emplace_back("measured", start);
  const auto devices = present(root["config"], "devices");
  const auto ranks = devices && devices->is_array() ? devices->size() : 0;
  if (ranks == 0) root["config"].fail("no devices: on how many ranks was that measured?");
  source.facts.emplace_back("GPUs", text_in(devices->items().front(), "device_info"));
  const auto index = add_source(runs, std::move(source));
  const std::string named = collective_in_words(root);
  CurveCollector collector(index, runs);
  (void)root["results"].size(0, most_entries);
  for (const auto& row : root["results"].items()) {
    const auto bytes = static_cast<std::uint64_t>(row["size"].integer(0));
    Call call{.collective = named,
              .ranks = static_cast<int>(ranks),
              .gpus = true,
              .type = type_name(text_in(row, "type")),
              .redop = text_in(row, "redop"),
              .root = static_cast<int>(lenient_number(row, "root").value_or(-1))};
    for (const auto& [key, in_place] : placements) {
      const auto timing = present(row, key);
      if (!timing || bytes == 0) continue;
      call.in_place = in_place;
      auto point = point_of(*timing, bytes);
      if (!point) continue;
      if (named.empty())
        call.collective = collective_by_factor(
            call.redop, point->busbw * point->us * 1e3 / static_cast<double>(bytes), call.ranks);
      collector.add(call, "nccl", Role::peer, "NCCL, by nccl-tests", std::move(*point));
    }
  }
}

void read_run_changes(const JsonValue& root, const std::string& file, Runs& runs) {
  const auto run_words = [](const JsonValue& run) {
    return fmt::format("{} (commit {}, {})", run["name"].text(), run["commit"].text(),
                       run["start_time"].text());
  };
  Source source{.file = file, .kind = "comparison of two runs"};
  source.notes = texts_in(root, "warnings");
  RunChanges changes{
      .source = 0, .old_run = run_words(root["old"]), .new_run = run_words(root["new"])};
  source.facts = {{"old run", changes.old_run}, {"new run", changes.new_run}};
  changes.source = add_source(runs, std::move(source));
  (void)root["rows"].size(0, most_entries);
  for (const auto& row : root["rows"].items()) {
    RowChange change{.call = call_of(row, false), .algorithm = row["algorithm"].text()};
    change.call.in_place = row["placement"].choice({"out_of_place", "in_place"}) == 1;
    change.bytes = static_cast<std::uint64_t>(row["size"].integer(0));
    change.ratio = number_in(row, "new_over_old");
    change.low = number_in(row, "low");
    change.high = number_in(row, "high");
    change.verdict = row["verdict"].text();
    changes.rows.push_back(std::move(change));
  }
  runs.changes.push_back(std::move(changes));
}

}  // namespace ringside::report
