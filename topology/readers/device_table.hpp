// SPDX-License-Identifier: MIT
/// Tables with devices above and beside them, as nvidia-smi and rocm-smi print them: found in a
/// text and cut into rows, without regard to what the cells mean.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/topology/readers/text.hpp"

namespace ringside {

struct TableRow {
  int line = 0;
  std::size_t column = 0;  ///< index of the row's device among the columns
  std::string text;        ///< what follows the label, as it stands
  bool at_cut = false;     ///< the text ends with this row, without a newline or with a short row
};

struct DeviceTable {
  int header_line = 0;
  int last_line = 0;
  std::vector<std::string> columns;  ///< "GPU0", ..., "NIC0" or "mlx5_0", ...
  std::string header_rest;           ///< "CPU Affinity NUMA Affinity", as it stands
  std::vector<TableRow> rows;
  std::string command;  ///< the last command line seen above it ("nvidia-smi topo -mp"), or ""
};

/// Whether a word can be a cell of a table.
using CellTest = std::function<bool(std::string_view)>;

/// All tables of a text, in order. A header names a GPU and nothing but devices, then perhaps
/// affinity columns; it may have lost its indentation or stand behind a prompt, and names may run
/// together. A row starts with one of these names, perhaps behind a prefix (of grep, a comment, a
/// list), and goes on with a cell. Bars of Markdown tables count as blanks. A header without rows
/// is no table, except when what follows looks like rows that have lost their separators: then
/// Error(bad_input).
[[nodiscard]] std::vector<DeviceTable> find_device_tables(const Text& text,
                                                          const CellTest& is_cell);

/// "GPU12".
[[nodiscard]] bool is_gpu_name(std::string_view word);

}  // namespace ringside
