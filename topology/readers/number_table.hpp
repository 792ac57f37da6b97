// SPDX-License-Identifier: MIT
/// Rows of numbers with the GPU's number in front, as the measuring programs print them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace ringside {

/// Cells of a row: a number, or nothing for "N/A", "-" and long dashes.
using NumberCells = std::vector<std::optional<double>>;

/// Whole numbers 0, 1, 2, ... and nothing else: how many.
[[nodiscard]] std::optional<int> read_column_numbers(std::string_view text);

struct NumberRow {
  int id = 0;
  NumberCells cells;
};

/// "3   8.56  N/A  8.60": at most `columns` cells; fewer where a word is none.
[[nodiscard]] std::optional<NumberRow> read_number_row(std::string_view line, int columns);

/// A line without a comment mark in front ("# 0 752.60", "#0").
[[nodiscard]] std::string_view without_comment_mark(std::string_view line);

}  // namespace ringside
