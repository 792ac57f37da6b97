// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/device_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"

namespace ringside {
namespace {

/// More than any machine has, and little enough that a table of it is quick to look at.
constexpr std::size_t most_columns = 256;
/// More than anybody pastes.
constexpr std::size_t most_tables = 256;
/// Words of a prefix: a file name, a comment mark, a time.
constexpr std::size_t most_prefix_words = 3;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// The length of "GPU12" at the start of the text, or 0.
std::size_t gpu_name_length(std::string_view text) {
  if (!text.starts_with("GPU")) return 0;
  std::size_t end = 3;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end > 3 && end < 8 ? end : 0;
}

/// NIC3, mlx5_0, rocep4s0f0: letters first, a digit somewhere, nothing strange.
bool is_device_name(std::string_view word) {
  const auto usual = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
  };
  return word.size() <= 40 && !word.empty() && std::isalpha(static_cast<unsigned char>(word[0])) &&
         std::ranges::any_of(word, is_digit) && std::ranges::all_of(word, usual);
}

/// "GPU0GPU1mlx5_0" -> GPU0, GPU1, mlx5_0; nothing when a piece is no device. Stops before the word
/// of an affinity column that is glued on ("GPU2CPU"), and says where.
std::optional<std::vector<std::string>> glued_names(std::string_view word, std::size_t& used) {
  std::vector<std::string> names;
  used = 0;
  while (used < word.size()) {
    const auto rest = word.substr(used);
    if (!names.empty() && (rest.starts_with("CPU") || rest.starts_with("NUMA"))) return names;
    const std::size_t length = gpu_name_length(rest);
    if (length == 0) {
      if (!is_device_name(rest)) return std::nullopt;
      names.emplace_back(rest);
      used = word.size();
      return names;
    }
    names.emplace_back(rest.substr(0, length));
    used += length;
  }
  return names;
}

bool is_affinity_word(std::string_view word) {
  return word.starts_with("CPU") || word.starts_with("NUMA") || word == "GPU";
}

std::string without_bars(std::string_view line) {
  std::string text(line);
  if (std::ranges::count(text, '|') >= 2) std::ranges::replace(text, '|', '\t');
  return text;
}

struct Header {
  std::vector<std::string> columns;
  std::string rest;
};

std::optional<Header> read_header(std::string_view line) {
  const std::size_t start = [&] {
    for (std::size_t at = line.find("GPU"); at != std::string_view::npos;
         at = line.find("GPU", at + 1))
      if (gpu_name_length(line.substr(at)) > 0) return at;
    return std::string_view::npos;
  }();
  if (start == std::string_view::npos) return std::nullopt;
  if (start > 0 && line[start - 1] != ' ' && line[start - 1] != '\t') return std::nullopt;
  Header header;
  std::string_view rest = line.substr(start);
  for (const auto& word : words_of(rest)) {
    if (is_affinity_word(word.text)) {
      header.rest = rest.substr(word.start);
      break;
    }
    std::size_t used = 0;
    const auto names = glued_names(word.text, used);
    if (!names) return std::nullopt;
    header.columns.insert(header.columns.end(), names->begin(), names->end());
    if (header.columns.size() > most_columns) return std::nullopt;
    if (used < word.text.size()) {
      header.rest = rest.substr(word.start + used);
      break;
    }
  }
  auto sorted = header.columns;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) return std::nullopt;
  return header;
}

/// A command such as `nvidia-smi topo -m`, wherever in the line it stands.
std::optional<std::string> read_command(std::string_view line) {
  for (const std::string_view program :
       {"nvidia-smi topo", "rocm-smi", "nvidia topo", "vidia-smi topo"})
    if (const auto at = line.find(program); at != std::string_view::npos)
      return std::string(trim(line.substr(at)));
  return std::nullopt;
}

class TableFinder {
 public:
  TableFinder(const Text& text, const CellTest& is_cell) : text_(text), is_cell_(is_cell) {}

  std::vector<DeviceTable> find() {
    for (index_ = 0; index_ < text_.lines.size(); ++index_) look_at(text_.lines[index_]);
    close();
    return std::move(tables_);
  }

 private:
  void look_at(const TextLine& raw) {
    const std::string line = without_bars(raw.text);
    if (open_ && add_row(line, raw.number)) return;
    if (auto header = line.find("GPU") == std::string::npos ? std::nullopt : read_header(line)) {
      close();
      if (const auto command = read_command(line)) command_ = *command;
      open_ = DeviceTable{.header_line = raw.number,
                          .last_line = raw.number,
                          .columns = std::move(header->columns),
                          .header_rest = std::move(header->rest),
                          .rows = {},
                          .command = command_};
      return;
    }
    if (open_ && open_->rows.empty() && !trim(line).empty()) note_glued_row(line, raw.number);
    if (const auto command = read_command(line)) {
      close();
      command_ = *command;
    }
  }

  bool add_row(const std::string& line, int number) {
    const auto words = words_of(line);
    for (std::size_t i = 0; i < words.size() && i <= most_prefix_words; ++i) {
      const auto found = std::ranges::find(open_->columns, words[i].text);
      if (found == open_->columns.end()) continue;
      const auto column = static_cast<std::size_t>(found - open_->columns.begin());
      const bool at_end = is_last_line();
      const bool has_cell = i + 1 < words.size() && is_cell_(words[i + 1].text);
      if (!has_cell && !(at_end && text_.cut && i + 1 >= words.size())) return false;
      if (std::ranges::any_of(open_->rows,
                              [&](const TableRow& row) { return row.column == column; }))
        return false;
      open_->rows.push_back({.line = number,
                             .column = column,
                             .text = line.substr(words[i].end()),
                             .at_cut = at_end});
      open_->last_line = number;
      return true;
    }
    return false;
  }

  /// "GPU0XNODENODE0-31": rows without separators cannot be told from one another.
  void note_glued_row(std::string_view line, int number) {
    const auto text = trim(line);
    const std::size_t length = gpu_name_length(text);
    if (length == 0 || length == text.size()) return;
    if (text[length] == 'X' || text.substr(length).starts_with("NV") ||
        is_cell_(text.substr(length)))
      throw Error(ErrorCode::bad_input,
                  fmt::format("line {}: the separators between names and cells are lost: {}",
                              number, quote(text)));
  }

  [[nodiscard]] bool is_last_line() const {
    for (std::size_t i = index_ + 1; i < text_.lines.size(); ++i)
      if (!trim(text_.lines[i].text).empty()) return false;
    return true;
  }

  void close() {
    if (open_ && !open_->rows.empty() && tables_.size() < most_tables)
      tables_.push_back(std::move(*open_));
    open_.reset();
  }

  const Text& text_;
  const CellTest& is_cell_;
  std::size_t index_ = 0;
  std::optional<DeviceTable> open_;
  std::string command_;
  std::vector<DeviceTable> tables_;
};

}  // namespace

bool is_gpu_name(std::string_view word) {
  return !word.empty() && gpu_name_length(word) == word.size();
}

std::vector<DeviceTable> find_device_tables(const Text& text, const CellTest& is_cell) {
  return TableFinder(text, is_cell).find();
}

}  // namespace ringside
