// SPDX-License-Identifier: MIT
/// `ringside simulate --format json`, its --timeline, and topologies.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "ringside/base/text.hpp"
#include "ringside/collectives/request.hpp"
#include "ringside/tools/report/readers.hpp"
#include "ringside/topology/describe.hpp"
#include "ringside/topology/readers/own_json.hpp"

namespace ringside::report {
namespace {

constexpr double us = 1e6;
/// More bars than that no screen shows.
constexpr std::size_t most_spans = 4000;
constexpr std::size_t most_rows = 128;

Call call_of(const JsonValue& root) {
  const auto& name = root["collective"].text();
  const auto collective = parse_collective(name);
  if (!collective) root["collective"].fail("no collective: " + quote(name));
  return {.collective = name,
          .ranks = count_in(root, "ranks", 1, max_ranks),
          .gpus = true,
          .type = root["type"].text(),
          .redop = reduces(*collective) ? "sum" : "none",
          .root = present(root, "root") ? count_in(root, "root", 0, max_ranks) : -1,
          .in_place = root["in_place"].boolean()};
}

/// Where only a range is known, the line goes through its middle (of the logarithms).
Point point_of(const JsonValue& row) {
  Point point{.bytes = static_cast<std::uint64_t>(row["bytes"].integer(1)),
              .us = amount(row["seconds"], true) * us,
              .busbw = amount(row["busbw"])};
  if (const auto least = number_in(row, "seconds_least")) point.least = *least * us;
  if (const auto most = number_in(row, "seconds_most")) point.most = *most * us;
  return point;
}

std::vector<LinkLoad> loads_of(const JsonValue& row) {
  std::vector<LinkLoad> loads;
  const auto list = present(row, "resources");
  if (!list) return loads;
  for (const auto& item : list->items())
    loads.push_back({.link = item["resource"].text(),
                     .bytes = amount(item["bytes"]),
                     .capacity = amount(item["capacity"], true),
                     .busy = amount(item["busy"]),
                     .saturated = amount(item["saturated"])});
  return loads;
}

/// One point a size, whatever the algorithms.
Series bound_of(const JsonValue& root, std::size_t source) {
  Series bound{.label = "bound: no plan can beat it",
               .role = Role::bound,
               .figures = Figures::predicted,
               .source = source,
               .detail = text_in(root, "bound")};
  std::map<std::uint64_t, Point> by_size;
  for (const auto& row : root["rows"].items()) {
    const auto seconds = number_in(row, "bound_seconds");
    if (!seconds || !(*seconds > 0)) continue;
    const auto bytes = static_cast<std::uint64_t>(row["bytes"].integer(1));
    // Bus bandwidth goes with the inverse of the time.
    by_size[bytes] = {.bytes = bytes,
                      .us = *seconds * us,
                      .busbw = amount(row["busbw"]) * amount(row["seconds"]) / *seconds};
  }
  for (auto& [bytes, point] : by_size) bound.points.push_back(std::move(point));
  return bound;
}

}  // namespace

void read_simulation(const JsonValue& root, const std::string& file, Runs& runs) {
  const Call call = call_of(root);
  Source source{.file = file, .kind = "simulation", .figures = Figures::simulated};
  source.facts = {{"machine", root["machine"].text()}, {"link model", root["link_model"].text()}};
  for (const auto& change : texts_in(root, "changes")) source.facts.emplace_back("changed", change);
  for (const auto& word : texts_in(root, "assumed")) source.notes.push_back("assumed: " + word);
  for (const auto& note : texts_in(root, "notes")) source.notes.push_back(note);
  for (const auto& line : texts_in(root, "skipped")) source.notes.push_back("left out: " + line);
  const auto index = add_source(runs, std::move(source));

  std::map<std::string, Series> by_algorithm;
  std::vector<std::string> order;
  std::vector<LoadCase> loads;
  (void)root["rows"].size(0, most_entries);
  for (const auto& row : root["rows"].items()) {
    const auto& label = row["algorithm"].text();
    const auto [at, is_new] = by_algorithm.emplace(
        label, Series{.label = label, .figures = Figures::simulated, .source = index});
    if (is_new) order.push_back(label);
    at->second.points.push_back(point_of(row));
    if (auto links = loads_of(row); !links.empty())
      loads.push_back({.algorithm = label,
                       .bytes = static_cast<std::uint64_t>(row["bytes"].integer(1)),
                       .seconds = amount(row["seconds"], true),
                       .links = std::move(links)});
  }
  for (const auto& label : order) runs.curves.push_back({call, std::move(by_algorithm[label])});
  if (auto bound = bound_of(root, index); !bound.points.empty())
    runs.curves.push_back({call, std::move(bound)});
  // Where links matter most comes first: large messages, and of these what is fastest.
  std::ranges::stable_sort(loads, [](const LoadCase& one, const LoadCase& other) {
    return std::pair(other.bytes, one.seconds) < std::pair(one.bytes, other.seconds);
  });
  if (const auto topology = present(root, "topology"))
    runs.machines.push_back({.source = index,
                             .name = root["machine"].text(),
                             .call = fmt::format("{} on {} ranks", call.collective, call.ranks),
                             .topology = topology_from_json(*topology),
                             .loads = std::move(loads)});
  else if (!loads.empty())
    runs.sources[index].notes.emplace_back(
        "no picture of the machine: the file was written without its topology");
}

void read_topology(const JsonValue& root, const std::string& file, Runs& runs) {
  const auto inner = present(root, "topology");
  MachineView view{.topology = topology_from_json(inner && inner->is_object() ? *inner : root)};
  view.name = view.topology.name.empty() ? file : view.topology.name;
  Source source{.file = file, .kind = "topology", .figures = Figures::nothing};
  source.facts = {{"machine", view.name}, {"has", summary(view.topology)}};
  view.source = add_source(runs, std::move(source));
  runs.machines.push_back(std::move(view));
}

void read_timeline(const JsonValue& root, const std::string& file, Runs& runs) {
  Timeline timeline;
  if (const auto about = present(root, "otherData")) timeline.title = text_in(*about, "simulated");
  std::map<std::int64_t, std::string> processes;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> threads;
  std::vector<std::pair<std::pair<std::int64_t, std::int64_t>, Span>> spans;
  (void)root["traceEvents"].size(0, 10 * most_entries);
  for (const auto& event : root["traceEvents"].items()) {
    const auto& phase = event["ph"].text();
    const auto process = event["pid"].integer();
    const auto thread = present(event, "tid") ? event["tid"].integer() : 0;
    if (phase == "M") {
      const auto& name = event["args"]["name"].text();
      if (event["name"].text() == "process_name") processes[process] = name;
      if (event["name"].text() == "thread_name") threads[{process, thread}] = name;
    } else if (phase == "X") {
      const auto& what = event["name"].text();
      const double begin = amount(event["ts"]);
      const bool issue = text_in(event, "cat") == "issue";
      spans.push_back({{process, thread},
                       {.begin_us = begin,
                        .end_us = begin + amount(event["dur"]),
                        .kind = issue ? "issue" : what.substr(0, what.find(' ')),
                        .what = what}});
    }
  }
  if (spans.empty()) root["traceEvents"].fail("no spans: there is nothing to draw");
  std::map<std::pair<std::int64_t, std::int64_t>, int> rows;
  for (const auto& [place, span] : spans) rows.emplace(place, 0);
  if (rows.size() > most_rows)
    root["traceEvents"].fail(
        fmt::format("{} lanes are more than a time line shows ({})", rows.size(), most_rows));
  for (auto& [place, row] : rows) {
    row = static_cast<int>(timeline.rows.size());
    const auto name = threads.contains(place) ? threads[place] : fmt::format("{}", place.second);
    timeline.rows.push_back(fmt::format("{}{}{}", processes[place.first],
                                        processes[place.first].empty() ? "" : ", ", name));
  }
  std::ranges::stable_sort(spans, {}, [](const auto& entry) { return entry.second.begin_us; });
  timeline.left_out = spans.size() > most_spans ? spans.size() - most_spans : 0;
  spans.resize(spans.size() - timeline.left_out);
  for (auto& [place, span] : spans) {
    span.row = rows[place];
    timeline.spans.push_back(std::move(span));
  }
  timeline.source = add_source(
      runs,
      {.file = file, .kind = "time line", .figures = Figures::simulated, .facts = {}, .notes = {}});
  if (!timeline.title.empty())
    runs.sources[timeline.source].facts.emplace_back("of", timeline.title);
  runs.timelines.push_back(std::move(timeline));
}

}  // namespace ringside::report
