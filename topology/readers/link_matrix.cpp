// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/link_matrix.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/topology/readers/affinity.hpp"
#include "ringside/topology/readers/device_table.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {
namespace {

using Names = std::vector<std::string>;

constexpr std::array<std::pair<std::string_view, LinkClass>, 7> words = {{
    {"X", LinkClass::self},
    {"PIX", LinkClass::pix},
    {"PXB", LinkClass::pxb},
    {"PHB", LinkClass::phb},
    {"NODE", LinkClass::node},
    {"SYS", LinkClass::sys},
    {"SOC", LinkClass::sys},
}};

/// No GPU has more; a greater number is two cells run together.
constexpr int most_nvlinks = 99;

/// The length of the cell at the start of the text, or 0. NV takes all digits that follow.
std::size_t cell_length(std::string_view text) {
  for (const auto& [word, value] : words)
    if (text.starts_with(word)) return word.size();
  if (!text.starts_with("NV")) return 0;
  std::size_t end = 2;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end > 2 && end <= 4 ? end : 0;
}

/// "PXBNODE" -> PXB, NODE: cells whose separator is lost. Nothing when a piece is no cell.
std::vector<LinkCell> glued_cells(std::string_view word) {
  std::vector<LinkCell> cells;
  while (!word.empty()) {
    const std::size_t length = cell_length(word);
    const auto cell = parse_link_cell(word.substr(0, length));
    if (!cell) return {};
    cells.push_back(*cell);
    word.remove_prefix(length);
  }
  return cells;
}

bool is_cell(std::string_view word) { return !glued_cells(word).empty(); }

/// The cells of one row as far as they can be read, and what follows them.
struct RowCells {
  std::vector<std::optional<LinkCell>> cells;
  std::string_view rest;
  bool overtyped = false;  ///< the last cell lies over the first affinity cell
  bool damaged = false;
};

class RowReader {
 public:
  RowReader(const TableRow& row, std::size_t columns, std::size_t affinity_columns)
      : row_(row),
        columns_(columns),
        affinity_columns_(affinity_columns),
        words_(words_of(row.text)) {}

  RowCells read() {
    for (const auto& word : words_) {
      if (result_.cells.size() >= columns_) break;
      ++taken_;
      result_.rest = std::string_view(row_.text).substr(word.end());
      if (const auto cells = glued_cells(word.text); !cells.empty()) {
        result_.cells.insert(result_.cells.end(), cells.begin(), cells.end());
      } else if (!take_unreadable(word)) {
        break;
      }
    }
    if (result_.cells.size() > columns_) result_.cells.resize(columns_), result_.damaged = true;
    return std::move(result_);
  }

 private:
  /// A word that is no cell stands for one if the words behind it are as many as they should be.
  bool take_unreadable(const Word& word) {
    const std::size_t behind = words_.size() - taken_;
    const std::size_t cells_behind = columns_ - result_.cells.size() - 1;
    const bool last_word = taken_ == words_.size();
    if (row_.at_cut && last_word) {  // half a cell
      result_.rest = {};
      return false;
    }
    result_.damaged = true;
    if (cells_behind == 0 && affinity_columns_ > 0 && behind + 1 == affinity_columns_ &&
        word.text.find_first_of("0123456789") != std::string_view::npos) {
      result_.cells.emplace_back();
      result_.overtyped = true;
      return true;
    }
    if (behind < cells_behind) return false;
    result_.cells.emplace_back();
    return true;
  }

  const TableRow& row_;
  std::size_t columns_, affinity_columns_;
  std::vector<Word> words_;
  std::size_t taken_ = 0;
  RowCells result_;
};

std::optional<int> line_of_row(const DeviceTable& table, std::size_t column) {
  for (const auto& row : table.rows)
    if (row.column == column) return row.line;
  return std::nullopt;
}

/// Reads one table.
class MatrixReader {
 public:
  explicit MatrixReader(const DeviceTable& table) : table_(table) {
    matrix_.names = table.columns;
    matrix_.gpus = static_cast<std::size_t>(std::ranges::count_if(matrix_.names, is_gpu_name));
    matrix_.columns = affinity_columns(table.header_rest);
    matrix_.cells.resize(matrix_.names.size() * matrix_.names.size());
  }

  std::pair<LinkMatrix, std::vector<Finding>> read() {
    for (const auto& row : table_.rows) read_row(row);
    for (std::size_t i = 0; i < matrix_.names.size(); ++i)
      if (!line_of_row(table_, i)) matrix_.missing_rows.push_back(matrix_.names[i]);
    std::ranges::move(damaged_rows_, std::back_inserter(matrix_.partial_rows));
    check_diagonal();
    mirror();
    report();
    return {std::move(matrix_), std::move(findings_)};
  }

 private:
  void read_row(const TableRow& row) {
    const std::string& name = matrix_.names[row.column];
    const bool gpu = is_gpu_name(name);
    auto read = RowReader(row, matrix_.names.size(), gpu ? matrix_.columns.size() : 0).read();
    bool complete = read.cells.size() == matrix_.names.size();
    if (!complete) drop_half_a_number(row, read);
    for (std::size_t i = 0; i < read.cells.size(); ++i) {
      matrix_.cell(row.column, i) = read.cells[i];
      if (!read.cells[i]) complete = false;
    }
    if (read.damaged) {
      matrix_.damaged = true;
      findings_.push_back({Severity::warning, row.line,
                           fmt::format("the row of {} has cells that cannot be read", name)});
    }
    if (gpu && read.cells.size() == matrix_.names.size()) {
      const auto affinity = read_affinity(read.rest, matrix_.columns, row.at_cut, read.overtyped);
      take_affinity(name, affinity);
      if (!affinity.complete) complete = false;
    }
    if (!complete) (read.damaged ? damaged_rows_ : matrix_.partial_rows).push_back(name);
  }

  /// "NV1" at the end of a cut text may have been "NV12".
  static void drop_half_a_number(const TableRow& row, RowCells& read) {
    if (!row.at_cut || read.cells.empty() || !trim(read.rest).empty()) return;
    if (read.cells.back() && read.cells.back()->value == LinkClass::nvlink) read.cells.pop_back();
  }

  void take_affinity(const std::string& name, const AffinityRow& row) {
    const std::array<std::pair<const char*, AffinityColumn*>, 3> columns = {
        {{"cpu", &matrix_.cpu_affinity},
         {"numa", &matrix_.numa_affinity},
         {"gnid", &matrix_.gpu_numa_id}}};
    for (const auto& [key, column] : columns)
      if (const auto found = row.cells.find(key); found != row.cells.end())
        (*column)[name] = found->second;
  }

  void check_diagonal() {
    for (std::size_t i = 0; i < matrix_.names.size(); ++i) {
      for (std::size_t j = 0; j < matrix_.names.size(); ++j) {
        const auto& cell = matrix_.cell(i, j);
        if (!cell || (cell->value == LinkClass::self) == (i == j)) continue;
        throw Error(
            ErrorCode::bad_input,
            fmt::format("line {}: the row of {} says {} under {}: its cells are out of place",
                        line_of_row(table_, i).value_or(table_.header_line), matrix_.names[i],
                        to_string(*cell), matrix_.names[j]));
      }
    }
  }

  /// The matrix is symmetric: what one row lacks, its mirror image may have.
  void mirror() {
    for (std::size_t i = 0; i < matrix_.names.size(); ++i) {
      for (std::size_t j = i + 1; j < matrix_.names.size(); ++j) {
        auto& upper = matrix_.cell(i, j);
        auto& lower = matrix_.cell(j, i);
        if (upper && lower && !(*upper == *lower))
          throw Error(
              ErrorCode::bad_input,
              fmt::format("the matrix contradicts itself: {} to {} is {} (line {}), {} to {} "
                          "is {} (line {})",
                          matrix_.names[i], matrix_.names[j], to_string(*upper),
                          line_of_row(table_, i).value_or(0), matrix_.names[j], matrix_.names[i],
                          to_string(*lower), line_of_row(table_, j).value_or(0)));
        if (!upper) upper = lower;
        if (!lower) lower = upper;
      }
    }
  }

  void report() {
    if (!matrix_.missing_rows.empty())
      findings_.push_back(
          {Severity::warning, table_.last_line,
           fmt::format("the matrix is cut: no row of {}", fmt::join(matrix_.missing_rows, ", "))});
    if (!matrix_.partial_rows.empty())
      findings_.push_back(
          {Severity::warning, table_.last_line,
           fmt::format("incomplete: the row{} of {}", matrix_.partial_rows.size() == 1 ? "" : "s",
                       fmt::join(matrix_.partial_rows, ", "))});
  }

  const DeviceTable& table_;
  LinkMatrix matrix_;
  Names damaged_rows_;  // listed after those that end too early
  std::vector<Finding> findings_;
};

/// The lines of a table's legend: what follows it up to the next table.
struct Legend {
  std::vector<std::string> kinds;  ///< "SYS", "PIX", "NV#"
  std::map<std::string, std::string> nics;
};

Legend read_legend(const Text& text, int after, int before, const Names& names) {
  Legend legend;
  for (const auto& line : lines_between(text, after, before)) {
    const auto parts = words_of(line.text);
    if (parts.size() >= 2 && parts[1].text == "=") legend.kinds.emplace_back(parts[0].text);
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {  // "NIC0: mlx5_0    NIC1: mlx5_1"
      auto name = parts[i].text;
      if (!name.ends_with(':')) continue;
      name.remove_suffix(1);
      if (!is_gpu_name(name) && std::ranges::find(names, name) != names.end())
        legend.nics[std::string(name)] = std::string(parts[i + 1].text);
    }
  }
  return legend;
}

/// The option of the command, if it stands there; else `-mp` has a whole legend without NV#.
bool is_pcie_only(const DeviceTable& table, const Legend& legend, const LinkMatrix& matrix) {
  for (const auto& cell : matrix.cells)
    if (cell && cell->value == LinkClass::nvlink) return false;
  const auto options = split_blanks(table.command);
  for (const auto option : options) {
    if (option == "-mp" || option == "--matrix_pci" || option == "--matrix-pci") return true;
    if (option == "-m" || option == "--matrix") return false;
  }
  const auto has = [&](std::string_view kind) {
    return std::ranges::find(legend.kinds, kind) != legend.kinds.end();
  };
  return has("X") && has("SYS") && has("NODE") && has("PHB") && has("PXB") && has("PIX") &&
         !has("NV#") && legend.kinds.back() != "PIX";
}

/// Cells of `topo -m`, or a single GPU with the columns of it.
bool is_link_table(const DeviceTable& table) {
  bool only_self = true;
  for (const auto& row : table.rows) {
    for (const auto& word : words_of(row.text)) {
      const auto cells = glued_cells(word.text);
      if (cells.empty()) continue;
      if (cells.size() > 1 || cells.front().value != LinkClass::self) return true;
    }
    only_self &= !words_of(row.text).empty();
  }
  return only_self && table.columns.size() == 1;
}

Reading read_table(const Text& text, const DeviceTable& table, int next_table) {
  auto [matrix, findings] = MatrixReader(table).read();
  const Legend legend = read_legend(text, table.last_line, next_table, table.columns);
  matrix.nic_legend = legend.nics;
  matrix.pcie_only = is_pcie_only(table, legend, matrix);
  return Reading{.reader = matrix.pcie_only ? "nvidia-smi topo -mp" : "nvidia-smi topo -m",
                 .source = {},
                 .first_line = table.header_line,
                 .last_line = table.last_line,
                 .facts = std::move(matrix),
                 .findings = std::move(findings)};
}

}  // namespace

std::optional<LinkCell> parse_link_cell(std::string_view word) {
  for (const auto& [name, value] : words)
    if (word == name) return LinkCell{.value = value, .count = 0, .old_sys = name == "SOC"};
  if (!word.starts_with("NV")) return std::nullopt;
  const auto count = parse_int(word.substr(2), 1, most_nvlinks);
  if (!count) return std::nullopt;
  return LinkCell{.value = LinkClass::nvlink, .count = static_cast<int>(*count), .old_sys = false};
}

std::string to_string(const LinkCell& cell) {
  if (cell.value == LinkClass::nvlink) return fmt::format("NV{}", cell.count);
  return cell.old_sys ? "SOC" : std::string(to_string(cell.value));
}

std::vector<Reading> read_link_matrices(const Text& text) {
  const auto tables = find_device_tables(text, is_cell);
  std::vector<Reading> readings;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (!is_link_table(tables[i])) continue;
    const int next =
        i + 1 < tables.size() ? tables[i + 1].header_line : text.lines.back().number + 1;
    readings.push_back(read_table(text, tables[i], next));
  }
  return readings;
}

}  // namespace ringside
