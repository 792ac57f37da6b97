// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/rocm.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/topology/readers/device_table.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> sections = {
    {{"Link accessible between two GPUs", "access"},
     {"Weight between two GPUs", "weight"},
     {"Hops between two GPUs", "hops"},
     {"Link Type between two GPUs", "link_type"}}};

bool is_cell(std::string_view word) {
  return word == "XGMI" || word == "PCIE" || word == "X" || word == "N/A" || word == "True" ||
         word == "False" || parse_int(word, 0, 100'000);
}

/// The section whose title stands nearest above a table.
std::string section_of(const Text& text, int after, int header_line) {
  std::string section;
  for (const auto& line : lines_between(text, after, header_line))
    for (const auto& [title, name] : sections)
      if (line.text.find(title) != std::string::npos) section = name;
  return section;
}

/// "GPU[3]   : (Topology) Numa Node: 1", also "GPU 3".
bool read_numa(std::string_view line, RocmTopology& facts) {
  const auto mark = line.find("(Topology) Numa ");
  if (mark == std::string_view::npos) return false;
  const auto gpu = line.find("GPU");
  if (gpu == std::string_view::npos || gpu > mark) return false;
  auto digits = line.substr(gpu + 3, mark - gpu - 3);
  digits = digits.substr(0, digits.find(':'));
  std::string number;
  for (const char c : digits)
    if (c >= '0' && c <= '9') number += c;
  const auto what = line.substr(mark + 16);
  const auto colon = what.find(':');
  if (colon == std::string_view::npos || !parse_int(number, 0, 100'000)) return false;
  const auto value = parse_int(trim(what.substr(colon + 1)), -1, 100'000);
  if (!value) return false;
  auto& column = what.starts_with("Affinity") ? facts.numa_affinity : facts.numa_node;
  column["GPU" + number] = static_cast<int>(*value);
  return true;
}

void read_table(const DeviceTable& table, std::vector<std::string>& cells, bool& truncated) {
  const std::size_t n = table.columns.size();
  cells.resize(n * n);
  truncated |= table.rows.size() < n;
  for (const auto& row : table.rows) {
    const auto words = words_of(row.text);
    for (std::size_t i = 0; i < n; ++i) {
      if (i >= words.size() || !is_cell(words[i].text)) {
        truncated = true;
        break;
      }
      cells[row.column * n + i] = words[i].text;
    }
  }
}

}  // namespace

std::vector<Reading> read_rocm_topology(const Text& text) {
  RocmTopology facts;
  int first_line = 0, last_line = 0;
  const auto extend = [&](int first, int last) {
    first_line = first_line == 0 ? first : std::min(first_line, first);
    last_line = std::max(last_line, last);
  };
  for (const auto& line : text.lines)
    if (read_numa(line.text, facts)) extend(line.number, line.number);
  const bool may_have_tables = std::ranges::any_of(text.lines, [](const TextLine& line) {
    return line.text.find("between two GPUs") != std::string::npos;
  });
  int last_table = 0;
  if (may_have_tables)
    for (const auto& table : find_device_tables(text, is_cell)) {
      const auto section =
          section_of(text, std::exchange(last_table, table.last_line), table.header_line);
      if (section.empty() || facts.matrices.contains(section)) continue;
      if (!facts.names.empty() && facts.names != table.columns)
        throw Error(ErrorCode::bad_input, "the sections of rocm-smi have different GPUs");
      facts.names = table.columns;
      read_table(table, facts.matrices[section], facts.truncated);
      extend(table.header_line, table.last_line);
    }
  if (facts.names.empty())
    for (const auto& [name, node] : facts.numa_node) facts.names.push_back(name);
  if (facts.names.empty()) return {};
  std::vector<Finding> findings;
  if (facts.truncated)
    findings.push_back(
        {Severity::warning, last_line, "a table is cut or has cells that cannot be read"});
  std::vector<Reading> readings;
  readings.push_back(Reading{.reader = "rocm-smi --showtopo",
                             .source = {},
                             .first_line = first_line,
                             .last_line = last_line,
                             .facts = std::move(facts),
                             .findings = std::move(findings)});
  return readings;
}

}  // namespace ringside
