// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/number_table.hpp"

#include "ringside/base/text.hpp"

namespace ringside {
namespace {

constexpr int most_columns = 1024;

bool is_no_number(std::string_view word) {
  return word == "N/A" || word == "-" || word == "--" || word == "\xe2\x80\x94" /* em dash */ ||
         word == "\xe2\x80\x93" /* en dash */;
}

}  // namespace

std::optional<int> read_column_numbers(std::string_view text) {
  int next = 0;
  for (const auto word : split_blanks(text)) {
    if (parse_int(word, 0, most_columns) != next) return std::nullopt;
    ++next;
  }
  return next > 0 ? std::optional(next) : std::nullopt;
}

std::optional<NumberRow> read_number_row(std::string_view line, int columns) {
  const auto words = split_blanks(line);
  if (words.empty()) return std::nullopt;
  const auto id = parse_int(words.front(), 0, most_columns);
  if (!id) return std::nullopt;
  NumberRow row{.id = static_cast<int>(*id), .cells = {}};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto number = parse_number(words[i]);
    if (!number && !is_no_number(words[i])) break;
    if (static_cast<int>(row.cells.size()) == columns) return std::nullopt;
    row.cells.push_back(number);
  }
  return row;
}

std::string_view without_comment_mark(std::string_view line) {
  line = trim(line);
  while (line.starts_with('#')) line = trim(line.substr(1));
  return line;
}

}  // namespace ringside
