// SPDX-License-Identifier: MIT
/// `ringside diagnose --format json`, and `ringside bench --preflight --format json`.
#include <fmt/format.h>

#include "ringside/base/text.hpp"
#include "ringside/tools/report/readers.hpp"

namespace ringside::report {
namespace {

std::string price_words(const JsonValue& price, const std::string& call) {
  const auto time = [&](std::string_view key) {
    return format_duration(Seconds(amount(price[key])));
  };
  std::string words = fmt::format(
      "{}: {} as it is, {} mended (both predicted)", call.empty() ? "an all-reduce" : call,
      time("as_is_seconds_predicted"), time("mended_seconds_predicted"));
  if (present(price, "as_is_seconds_measured"))
    words += fmt::format("; {} was measured", time("as_is_seconds_measured"));
  return words;
}

/// "topo.txt:3: GPU0 X PHB".
std::string line_words(const JsonValue& line) {
  std::string words = text_in(line, "file");
  if (present(line, "line")) words += fmt::format(":{}", line["line"].integer());
  return words + (words.empty() ? "" : ": ") + line["text"].text();
}

Finding finding_of(const JsonValue& json, const std::string& call) {
  Finding finding{.id = json["id"].text(),
                  .title = json["title"].text(),
                  .certainty = json["certainty"].text(),
                  .harm = json["harm"].text(),
                  .why = json["why"].text(),
                  .cost = "",
                  .confirm = text_in(json, "confirm"),
                  .fix = text_in(json, "fix")};
  if (const auto lines = present(json, "lines"))
    for (const auto& line : lines->items()) finding.lines.push_back(line_words(line));
  if (const auto price = present(json, "cost")) finding.cost = price_words(*price, call);
  return finding;
}

/// A device's number, or "host".
std::string end_words(const JsonValue& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.text() : fmt::format("GPU {}", value.integer());
}

std::string access_words(const JsonValue& json) {
  const auto access = present(json, "peer_access");
  return !access ? "" : access->boolean() ? "P2P on" : "P2P off";
}

std::string words_of(std::string text) {
  for (char& c : text)
    if (c == '_') c = ' ';
  return text;
}

PathFigure path_of(const JsonValue& step, const JsonValue& flow) {
  return {.from = end_words(flow["source"]),
          .to = end_words(flow["destination"]),
          .traffic = words_of(text_in(step, "traffic")),
          .method = words_of(text_in(step, "method")),
          .peer_access = access_words(step)};
}

void read_paths(const JsonValue& root, Preflight& preflight) {
  for (const auto& step : root["bandwidths"].items())
    for (const auto& flow : step["flows"].items()) {
      PathFigure path = path_of(step, flow);
      path.gb_per_s = number_in(flow, "bandwidth_gb_per_s");
      if (path.gb_per_s) preflight.paths.push_back(std::move(path));
    }
  for (const auto& step : root["latencies"].items()) {
    PathFigure path = path_of(step, step);
    path.latency_us = number_in(step, "latency_us");
    if (path.latency_us) preflight.paths.push_back(std::move(path));
  }
}

}  // namespace

void read_diagnosis(const JsonValue& root, const std::string& file, Runs& runs) {
  Source source{.file = file, .kind = "diagnosis", .figures = Figures::predicted};
  if (const auto inputs = present(root, "inputs"))
    for (const auto& input : inputs->items())
      source.facts.emplace_back("input", input["file"].text());
  Diagnosis diagnosis{.source = add_source(runs, std::move(source)),
                      .verdict = root["verdict"].text()};
  const std::string call = text_in(root, "priced");
  (void)root["findings"].size(0, most_entries);
  for (const auto& item : root["findings"].items())
    diagnosis.findings.push_back(finding_of(item, call));
  if (const auto compared = present(root, "compared"))
    for (const auto& item : compared->items())
      diagnosis.compared.push_back({.what = item["what"].text(),
                                    .measured = amount(item["gb_per_s_measured"]),
                                    .predicted = amount(item["gb_per_s_predicted"])});
  if (const auto price = present(root, "all_mended"))
    diagnosis.all_mended = price_words(*price, call);
  runs.diagnoses.push_back(std::move(diagnosis));
}

void read_preflight(const JsonValue& root, const std::string& file, Runs& runs) {
  Source source{.file = file, .kind = "preflight"};
  if (root["virtual_devices"].boolean()) source.figures = Figures::nothing;
  source.facts = {{"measured", text_in(root, "start_time")}, {"host", text_in(root, "host_name")}};
  Preflight preflight;
  for (const auto& device : root["devices"].items())
    preflight.devices.push_back(fmt::format("GPU {}: {}, {}", device["device"].integer(),
                                            device["name"].text(), device["pci_bus_id"].text()));
  preflight.source = add_source(runs, std::move(source));
  read_paths(root, preflight);
  for (const auto& item : root["findings"].items())
    preflight.findings.push_back({.id = words_of(item["kind"].text()),
                                  .title = item["text"].text(),
                                  .certainty = "certain",
                                  .harm = "",
                                  .why = "",
                                  .cost = "",
                                  .confirm = "",
                                  .fix = ""});
  runs.preflights.push_back(std::move(preflight));
}

}  // namespace ringside::report
