// SPDX-License-Identifier: MIT
#include "ringside/tools/report/read_runs.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/tools/report/readers.hpp"

namespace ringside::report {
namespace {

/// A simulation with all links of a large machine has some millions of values.
constexpr JsonLimits limits{.bytes = std::size_t{256} << 20, .depth = 24, .values = 20'000'000};

bool is_text(const JsonValue& root, std::string_view key, std::string_view wanted) {
  const auto value = present(root, key);
  return value && value->is_string() && value->text() == wanted;
}

bool has_array(const JsonValue& root, std::string_view key) {
  const auto value = present(root, key);
  return value && value->is_array();
}

using Reader = void (*)(const JsonValue&, const std::string&, Runs&);

/// By what no other kind has.
Reader reader_for(const JsonValue& root) {
  for (const auto& [key, reader] : std::to_array<std::pair<std::string_view, Reader>>(
           {{"ringside_bench", &read_bench},
            {"ringside_comparison", &read_run_changes},
            {"ringside_preflight", &read_preflight},
            {"ringside_topology", &read_topology},
            {"traceEvents", &read_timeline}}))
    if (root.find(key)) return reader;
  if (const auto topology = present(root, "topology");
      topology && topology->is_object() && !root.find("kind"))
    return &read_topology;
  if (is_text(root, "kind", "training")) return &read_training;
  if (is_text(root, "kind", "training_comparison")) return &read_training_comparison;
  if (is_text(root, "kind", "predicted") && root.find("device_step_seconds"))
    return &read_predicted_training;
  if (is_text(root, "kind", "simulated") && has_array(root, "rows") && root.find("link_model") &&
      !root.find("choices"))
    return &read_simulation;
  if (root.find("verdict") && has_array(root, "findings")) return &read_diagnosis;
  if (has_array(root, "results") && root.find("config")) return &read_nccl_tests;
  return nullptr;
}

}  // namespace

std::string_view to_string(Figures figures) {
  constexpr std::array words = {"measured", "simulated", "predicted", "not measured"};
  return words[static_cast<std::size_t>(figures)];
}

std::string_view known_kinds() {
  return "bench, simulate, train, diagnose or topo with --format json, simulate --timeline, or "
         "nccl-tests";
}

void read_run(std::string_view text, const std::string& name, Runs& runs) {
  const JsonDocument document(text, name, limits);
  const JsonValue root = document.root();
  const Reader reader = root.is_object() ? reader_for(root) : nullptr;
  if (reader == nullptr)
    root.fail(fmt::format("no run that a report can show: expected the JSON of {}", known_kinds()));
  try {
    reader(root, name, runs);
  } catch (const Error& error) {
    // What is made from the values, such as a topology, does not know the file.
    const std::string_view message = error.what();
    if (message.starts_with(name)) throw;
    throw Error(error.code(), fmt::format("{}: {}", name, message));
  }
}

// ---- what the readers share

std::optional<JsonValue> present(const JsonValue& object, std::string_view key) {
  const auto value = object.find(key);
  return value && !value->is_null() ? value : std::nullopt;
}

double amount(const JsonValue& value, bool positive) {
  const double number = value.number();
  if (number < 0 || (positive && number == 0))
    value.fail(fmt::format("expected a number {} 0, got {:g}", positive ? "above" : "of at least",
                           number));
  return number;
}

std::optional<double> number_in(const JsonValue& object, std::string_view key) {
  const auto value = present(object, key);
  return value ? std::optional(value->number()) : std::nullopt;
}

std::string text_in(const JsonValue& object, std::string_view key) {
  const auto value = present(object, key);
  return value ? value->text() : std::string();
}

int count_in(const JsonValue& object, std::string_view key, int least, int most) {
  return static_cast<int>(object[key].integer(least, most));
}

std::vector<std::string> texts_in(const JsonValue& object, std::string_view key) {
  std::vector<std::string> texts;
  if (const auto list = present(object, key))
    for (const auto& item : list->items()) texts.push_back(item.text());
  return texts;
}

std::size_t add_source(Runs& runs, Source source) {
  runs.sources.push_back(std::move(source));
  return runs.sources.size() - 1;
}

std::string type_name(std::string_view name) {
  constexpr auto names = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"float", "float32"}, {"double", "float64"}, {"half", "float16"}});
  for (const auto& [theirs, ours] : names)
    if (name == theirs) return std::string(ours);
  return std::string(name);
}

}  // namespace ringside::report
