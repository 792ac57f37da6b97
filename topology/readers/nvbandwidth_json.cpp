// SPDX-License-Identifier: MIT
/// `nvbandwidth --json`: the same matrices as in its text, with cells as texts.
#include <algorithm>

#include "ringside/base/text.hpp"
#include "ringside/topology/readers/json_text.hpp"
#include "ringside/topology/readers/pair_matrices.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {
namespace {

constexpr std::size_t most_rows = 1024;

std::optional<double> cell_of(const JsonValue& value) {
  if (value.is_null()) return std::nullopt;
  return value.is_string() ? parse_number(value.text()) : std::optional(value.number());
}

std::string text_of(const JsonValue& object, std::string_view key) {
  const auto value = object.find(key);
  return value && value->is_string() ? value->text() : "";
}

/// Nothing for a test that was waived or failed: it has no matrix.
std::optional<PairMatrix> matrix_of(const JsonValue& test) {
  const auto rows = test.find("bandwidth_matrix");
  if (!rows || !rows->is_array() || rows->size(0, most_rows) == 0) return std::nullopt;
  PairMatrix matrix;
  matrix.title = test["name"].text();
  matrix.description = text_of(test, "bandwidth_description");
  for (const auto& row : rows->items()) {
    (void)row.size(1, most_rows);
    std::vector<std::optional<double>> cells;
    for (const auto& cell : row.items()) cells.push_back(cell_of(cell));
    if (!matrix.values.empty() && cells.size() != matrix.values.front().size())
      row.fail("this row is shorter or longer than the first");
    matrix.columns = static_cast<int>(cells.size());
    matrix.row_ids.push_back(static_cast<int>(matrix.row_ids.size()));
    matrix.values.push_back(std::move(cells));
  }
  if (const auto sum = test.find("sum")) matrix.sum = cell_of(*sum);
  return matrix;
}

/// "0: NVIDIA GH200 480GB (00000009:01:00): (host)".
std::vector<MeasuredDevice> devices_of(const JsonValue& root) {
  std::vector<MeasuredDevice> devices;
  const auto list = root.find("GPU Device list");
  if (!list || !list->is_array()) return devices;
  (void)list->size(0, most_rows);
  for (const auto& each : list->items()) {
    const std::string_view text = each.text();
    const auto colon = text.find(':');
    const auto number = parse_int(text.substr(0, colon), 0, 10'000);
    if (number && colon != std::string_view::npos)
      devices.push_back(nvbandwidth_device(static_cast<int>(*number), text.substr(colon + 1)));
  }
  return devices;
}

}  // namespace

std::vector<Reading> read_nvbandwidth_json(const Text& text) {
  std::vector<Reading> readings;
  for (const auto& section : json_sections(text, "\"nvbandwidth\"")) {
    const JsonDocument document(section.json, "nvbandwidth", report_limits);
    const auto root = document.root().find("nvbandwidth");
    const auto tests = root ? root->find("testcases") : std::nullopt;
    if (!tests || !tests->is_array()) continue;
    NvBandwidth facts;
    facts.devices = devices_of(*root);
    for (const auto& test : tests->items())
      if (auto matrix = matrix_of(test)) facts.tests.push_back(std::move(*matrix));
    if (facts.tests.empty()) continue;
    readings.push_back(Reading{.reader = "nvbandwidth",
                               .source = {},
                               .first_line = section.first_line,
                               .last_line = section.last_line,
                               .facts = std::move(facts),
                               .findings = {}});
  }
  return readings;
}

}  // namespace ringside
