// SPDX-License-Identifier: MIT
#include "ringside/tools/cli/simulate_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ringside/base/json_write.hpp"
#include "ringside/base/text.hpp"
#include "ringside/tools/cli/report_text.hpp"
#include "ringside/topology/writers/json_value.hpp"

namespace ringside::cli {
namespace {

constexpr double percent = 100, us = 1e6;

const std::string& name_of(const Machine& machine, std::optional<ResourceId> resource) {
  static const std::string nothing = "nothing";
  return resource ? machine.resources()[static_cast<std::size_t>(*resource)].name : nothing;
}

/// Where the time went, the largest part first.
struct Part {
  std::string name;
  double seconds = 0;
};

std::vector<Part> parts_of(const PathShares& shares, const Machine& machine) {
  std::vector<Part> parts = {
      {"call", shares.call}, {"overheads", shares.overhead}, {"latencies", shares.latency}};
  for (const auto& limited : shares.transfers)
    parts.push_back({name_of(machine, limited.resource), limited.seconds});
  std::erase_if(parts, [](const Part& part) { return part.seconds <= 0; });
  std::ranges::stable_sort(parts, std::greater<>(), &Part::seconds);
  return parts;
}

// --- text ----------------------------------------------------------------------------------------

using Line = std::array<std::string, 6>;

Line line_of(const SimulatedRow& row, const Machine& machine) {
  const std::string limit = limit_of(row, machine);
  if (row.is_range())
    return {row.spec, fmt::format("{} to {}", time_text(row.least), time_text(row.most)),
            "-",      "-",
            "-",      limit};
  const std::string distance = row.bound > 0 ? figure(row.seconds / row.bound) + " x" : "-";
  return {row.spec,
          time_text(row.seconds),
          figure(row.algorithm_bandwidth),
          figure(row.bus_bandwidth),
          distance,
          limit};
}

std::string table(const std::vector<Line>& lines) {
  std::array<std::size_t, 6> widths = {};
  for (const Line& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  std::string text;
  for (const Line& line : lines) {
    text += fmt::format("{:<{}}", line[0], widths[0]);
    for (std::size_t i = 1; i + 1 < line.size(); ++i)
      text += fmt::format("  {:>{}}", line[i], widths[i]);
    text += fmt::format("  {}\n", line.back());
  }
  return text;
}

std::string links_text(const SimulatedRow& row, const Machine& machine) {
  std::vector<ResourceId> used;
  for (ResourceId id = 0; id < static_cast<ResourceId>(row.resources.size()); ++id)
    if (row.resources[static_cast<std::size_t>(id)].bytes > 0) used.push_back(id);
  std::ranges::stable_sort(used, std::greater<>(), [&](ResourceId id) {
    return row.resources[static_cast<std::size_t>(id)].saturated;
  });
  std::vector<Line> lines = {{"  " + row.spec, "taken", "busy", "full", "of capacity", ""}};
  for (const ResourceId id : used) {
    const auto& usage = row.resources[static_cast<std::size_t>(id)];
    const double capacity = machine.resources()[static_cast<std::size_t>(id)].capacity;
    lines.push_back(
        {"    " + name_of(machine, id), format_bytes(static_cast<std::uint64_t>(usage.bytes)),
         time_text(usage.busy), time_text(usage.saturated),
         fmt::format("{:.0f} %", percent * usage.bytes / (capacity * row.seconds)), ""});
  }
  return table(lines);
}

/// Neighbouring pieces of one kind, rank and limit are told as one: a path has as many pieces as a
/// plan has steps.
std::string path_text(const SimulatedRow& row, const Machine& machine) {
  constexpr std::array kinds = {"call", "overhead", "latency", "transfer"};
  constexpr std::size_t most = 40;
  std::string text = fmt::format("  critical path of {}:\n", row.spec);
  for (const Part& part : parts_of(row.shares, machine))
    text += fmt::format("    {:>9}  {:5.1f} %  {}\n", time_text(part.seconds),
                        percent * part.seconds / row.seconds, part.name);
  const auto& path = row.critical_path;
  for (std::size_t i = 0; i < path.size() && i < most; ++i) {
    const auto& piece = path[i];
    text += fmt::format(
        "    {:12.3f} us  {:>10}  {}{}{}\n", piece.begin * us, time_text(piece.end - piece.begin),
        kinds[static_cast<std::size_t>(piece.kind)],
        piece.op ? fmt::format(" of rank {}, op {}, slice {}", piece.rank, *piece.op, piece.slice)
                 : "",
        piece.limit ? ": " + name_of(machine, piece.limit) : "");
  }
  if (path.size() > most)
    text += fmt::format("    ... {} more pieces (--format json has all)\n", path.size() - most);
  return text;
}

std::string title(const SimulationReport& report) {
  const Request& request = report.request;
  std::vector<std::string> names;
  const auto nodes = report.machine->machine.topology().gpus();
  for (const int gpu : report.gpus)
    names.push_back(
        report.machine->machine.topology().node(nodes[static_cast<std::size_t>(gpu)]).name);
  constexpr std::size_t shown = 16;
  const bool all = names.size() <= shown;
  if (!all) names.resize(shown);
  return fmt::format("# simulated: {} {} ({}{})\n", to_string(report.type), describe(request),
                     fmt::join(names, " "), all ? "" : " ...");
}

}  // namespace

std::string limit_of(const SimulatedRow& row, const Machine& machine) {
  if (row.seconds <= 0) return "-";
  const PathShares& shares = row.shares;
  double data = 0;
  for (const auto& limited : shares.transfers) data += limited.seconds;
  const auto part = [&](double seconds) {
    return fmt::format("{:.0f} %", percent * seconds / row.seconds);
  };
  const auto issue = std::max({Part{"call", shares.call}, Part{"overheads", shares.overhead},
                               Part{"latencies", shares.latency}},
                              [](const Part& a, const Part& b) { return a.seconds < b.seconds; });
  if (issue.seconds > data || shares.transfers.empty())
    return fmt::format("{} ({})", issue.name, part(issue.seconds));
  // Where the limit moves from link to link, as in a ring on equal ones, no single one is it.
  const auto& first = shares.transfers.front();
  const std::string& name = name_of(machine, first.resource);
  if (first.seconds * 2 >= data) return fmt::format("{} ({})", name, part(first.seconds));
  return fmt::format("data ({}), in turn on {} and others", part(data), name);
}

std::string report_text(const SimulationReport& report) {
  const Machine& machine = report.machine->machine;
  std::string text = title(report) + machine_heading(*report.machine);
  if (!report.bound_reason.empty())
    text += fmt::format("# no plan can beat the bound{}: {}\n", report.bound_caveat,
                        report.bound_reason);
  for (auto first = report.rows.begin(); first != report.rows.end();) {
    const auto end = std::find_if(first, report.rows.end(),
                                  [&](const auto& row) { return row.asked != first->asked; });
    std::vector<const SimulatedRow*> rows;
    for (auto row = first; row != end; ++row) rows.push_back(&*row);
    std::ranges::stable_sort(rows, {}, &SimulatedRow::seconds);
    std::vector<Line> lines = {
        {format_bytes(first->bytes), "time", "algbw", "busbw GB/s", "of bound", "mostly"}};
    for (const auto* row : rows) lines.push_back(line_of(*row, machine));
    text += "\n" + table(lines);
    for (const auto* row : rows)
      if (!row->resources.empty()) text += "\n" + links_text(*row, machine);
    for (const auto* row : rows)
      if (!row->critical_path.empty()) text += "\n" + path_text(*row, machine);
    first = end;
  }
  if (!report.skipped.empty()) text += "\n";
  for (const auto& line : report.skipped) text += fmt::format("# skipped: {}\n", line);
  if (!report.notes.empty()) text += "\n";
  for (const auto& line : report.notes) text += fmt::format("# note: {}\n", line);
  return text;
}

// --- for programs --------------------------------------------------------------------------------

namespace {

Json shares_json(const SimulatedRow& row, const Machine& machine) {
  Json list = Json::array();
  for (const Part& part : parts_of(row.shares, machine))
    list.push_back({{"what", part.name}, {"seconds", part.seconds}});
  return list;
}

Json links_json(const SimulatedRow& row, const Machine& machine) {
  Json list = Json::array();
  for (std::size_t i = 0; i < row.resources.size(); ++i)
    list.push_back({{"resource", machine.resources()[i].name},
                    {"capacity", machine.resources()[i].capacity},
                    {"bytes", row.resources[i].bytes},
                    {"busy", row.resources[i].busy},
                    {"saturated", row.resources[i].saturated}});
  return list;
}

Json path_json(const SimulatedRow& row, const Machine& machine) {
  constexpr std::array kinds = {"call", "overhead", "latency", "transfer"};
  Json list = Json::array();
  for (const auto& piece : row.critical_path) {
    Json json = {{"kind", kinds[static_cast<std::size_t>(piece.kind)]},
                 {"begin", piece.begin},
                 {"end", piece.end}};
    if (piece.op) {
      json["rank"] = piece.rank;
      json["op"] = *piece.op;
      json["slice"] = piece.slice;
    }
    if (piece.limit) json["limit"] = name_of(machine, piece.limit);
    list.push_back(std::move(json));
  }
  return list;
}

Json row_json(const SimulatedRow& row, const Machine& machine) {
  Json json = {{"algorithm", row.spec}, {"bytes", row.bytes}, {"seconds", row.seconds}};
  if (row.is_range()) {
    json["seconds_least"] = row.least;
    json["seconds_most"] = row.most;
  }
  json["algbw"] = row.algorithm_bandwidth;
  json["busbw"] = row.bus_bandwidth;
  if (row.bound > 0) json["bound_seconds"] = row.bound;
  json["ops"] = row.ops;
  json["time_spent"] = shares_json(row, machine);
  if (!row.resources.empty()) json["resources"] = links_json(row, machine);
  if (!row.critical_path.empty()) json["critical_path"] = path_json(row, machine);
  return json;
}

}  // namespace

std::string report_json(const SimulationReport& report) {
  const Machine& machine = report.machine->machine;
  const Request& request = report.request;
  Json json = {{"kind", "simulated"},
               {"machine", report.machine->name},
               {"link_model", machine.model().name},
               {"changes", report.machine->changes},
               {"assumed", assumed_words(*report.machine)},
               {"collective", to_string(request.collective)},
               {"ranks", request.ranks},
               {"gpus", report.gpus},
               {"in_place", request.in_place},
               {"type", to_string(report.type)}};
  if (has_root(request.collective)) json["root"] = request.root;
  json["bound"] = report.bound_reason;
  json["rows"] = Json::array();
  for (const auto& row : report.rows) json["rows"].push_back(row_json(row, machine));
  json["skipped"] = report.skipped;
  json["notes"] = report.notes;
  // What the links are between, for pictures.
  const bool has_links = std::ranges::any_of(
      report.rows, [](const SimulatedRow& row) { return !row.resources.empty(); });
  if (has_links) json["topology"] = topology_json_value(machine.topology());
  return dump_json(json);
}

std::string report_csv(const SimulationReport& report) {
  const auto quoted = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2)
      text.insert(at, 1, '"');
    return '"' + text + '"';
  };
  std::string text =
      "kind,machine,collective,ranks,bytes,algorithm,seconds,seconds_least,seconds_most,algbw,"
      "busbw,bound_seconds,mostly\n";
  for (const auto& row : report.rows) {
    const double least = row.is_range() ? row.least : row.seconds;
    const double most = row.is_range() ? row.most : row.seconds;
    text +=
        fmt::format("simulated,{},{},{},{},{},{},{},{},{},{},{},{}\n", quoted(report.machine->name),
                    to_string(report.request.collective), report.request.ranks, row.bytes,
                    quoted(row.spec), row.seconds, least, most, row.algorithm_bandwidth,
                    row.bus_bandwidth, row.bound, quoted(limit_of(row, report.machine->machine)));
  }
  return text;
}

}  // namespace ringside::cli
