// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/affinity.hpp"

#include <algorithm>
#include <cctype>

#include "ringside/base/text.hpp"

namespace ringside {
namespace {

/// A list of processors that a terminal broke goes on after the gap: "0-17,36-" "53" and
/// "18-35,54" "-71".
bool continues(std::string_view first, std::string_view second) {
  return first.ends_with('-') || first.ends_with(',') || second.starts_with('-') ||
         second.starts_with(',');
}

std::vector<std::string> joined_words(std::string_view rest) {
  std::vector<std::string> words;
  for (const auto& word : words_of(rest)) {
    if (!words.empty() && continues(words.back(), word.text))
      words.back() += word.text;
    else
      words.emplace_back(word.text);
  }
  return words;
}

/// Fields between tabs, the empty ones included, without the second tab that fills a wide column.
std::vector<std::string> tab_fields(std::string_view rest) {
  std::vector<std::string> fields;
  for (const auto field : split(rest, '\t')) fields.emplace_back(trim(field));
  if (!fields.empty()) fields.erase(fields.begin());  // before the first tab is the matrix
  return fields;
}

AffinityRow assign(const std::vector<std::string>& columns, std::size_t first,
                   const std::vector<std::string>& values) {
  AffinityRow row;
  for (std::size_t i = 0; i < values.size() && first + i < columns.size(); ++i)
    row.cells[columns[first + i]] = values[i];
  return row;
}

/// Fewer words than columns in a row that was not cut: some cells are empty. Tabs tell which, if
/// there are any; else words fill the columns from the right where the last is N/A (only the last
/// column is printed so when the others are empty), and from the left otherwise.
AffinityRow assign_sparse(std::string_view rest, const std::vector<std::string>& columns,
                          const std::vector<std::string>& words) {
  AffinityRow row;
  const bool from_right = words.back() == "N/A" && words.size() < columns.size();
  if (rest.find('\t') != std::string_view::npos) {
    const auto fields = tab_fields(rest);
    std::size_t next = 0;
    for (std::size_t i = 0; i < fields.size() && next < columns.size(); ++i) {
      const std::size_t fields_left = fields.size() - i;
      const std::size_t columns_left = columns.size() - next;
      if (fields[i].empty() && fields_left > columns_left && next > 0 && next + 1 == columns.size())
        continue;  // the second tab before the last column
      row.cells[columns[next++]] = fields[i];
    }
    return row;
  }
  const std::size_t first = from_right ? columns.size() - words.size() : 0;
  row = assign(columns, first, words);
  for (std::size_t i = 0; i < first; ++i) row.cells[columns[i]] = "";
  return row;
}

/// "NUMA 0" behind the row, without a column in the header.
bool read_inline_numa(const std::vector<std::string>& words, AffinityRow& row) {
  if (words.size() != 2 || words[0] != "NUMA") return false;
  row.cells["numa"] = words[1];
  return true;
}

}  // namespace

std::vector<std::string> affinity_columns(std::string_view header_rest) {
  std::string letters;
  for (const char c : header_rest)
    if (std::isalpha(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::vector<std::string> columns;
  if (letters.find("cpuaff") != std::string::npos) columns.emplace_back("cpu");
  const auto gpu_numa = letters.find("gpunumaid");
  const auto numa = letters.find("numa");
  if (numa != std::string::npos && numa != gpu_numa + 3) columns.emplace_back("numa");
  if (gpu_numa != std::string::npos) columns.emplace_back("gnid");
  return columns;
}

AffinityRow read_affinity(std::string_view rest, const std::vector<std::string>& columns,
                          bool at_cut, bool overtyped) {
  auto words = joined_words(rest);
  AffinityRow row;
  if (columns.empty()) return (void)read_inline_numa(words, row), row;
  if (overtyped) {
    row = assign(columns, 1, words);
    row.cells[columns[0]] = std::nullopt;
    row.complete = words.size() + 1 >= columns.size();
    return row;
  }
  const bool unfinished =
      !words.empty() && (words.back().ends_with(',') || words.back().ends_with('-'));
  const auto fields = tab_fields(rest);
  const bool all_cells = fields.size() >= columns.size() && !fields.back().empty();
  const bool short_of_cells = words.size() < columns.size() && !all_cells;
  if (at_cut && (short_of_cells || unfinished)) {
    const bool whole = rest.ends_with(' ') || rest.ends_with('\t');
    if (!words.empty() && (!whole || unfinished)) words.pop_back();
    row = assign(columns, 0, words);
    row.complete = false;
    return row;
  }
  if (words.empty()) return row.complete = false, row;
  return words.size() < columns.size() ? assign_sparse(rest, columns, words)
                                       : assign(columns, 0, words);
}

}  // namespace ringside
