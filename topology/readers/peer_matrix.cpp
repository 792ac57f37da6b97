// SPDX-License-Identifier: MIT
#include "ringside/topology/readers/peer_matrix.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "ringside/base/text.hpp"
#include "ringside/topology/readers/device_table.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {
namespace {

// What nvidia-smi's legend lists, with the spellings of all its versions.
constexpr std::array<std::string_view, 8> statuses = {"OK", "CNS", "GNS", "TNS",
                                                      "NS", "DR",  "U",   "X"};

bool is_status(std::string_view word) {
  return std::ranges::find(statuses, word) != statuses.end();
}

/// The letter behind -p2p: "nvidia-smi topo -p2p r"; "rw" is taken as its first.
std::string capability_of(const std::string& command) {
  const auto words = split_blanks(command);
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if ((words[i] == "-p2p" || words[i] == "--p2pstatus") && !words[i + 1].empty() &&
        std::string_view("rwnap").find(words[i + 1].front()) != std::string_view::npos)
      return std::string(1, words[i + 1].front());
  return "";
}

/// A single GPU's X could be of any matrix; one with a status is of this.
bool is_peer_table(const DeviceTable& table) {
  for (const auto& row : table.rows)
    for (const auto& word : words_of(row.text))
      if (word.text != "X" && is_status(word.text)) return true;
  return false;
}

Reading read_table(const DeviceTable& table) {
  PeerMatrix matrix{.names = table.columns,
                    .capability = capability_of(table.command),
                    .status = {},
                    .missing_rows = {},
                    .partial_rows = {}};
  const std::size_t n = matrix.names.size();
  matrix.status.resize(n * n);
  std::vector<bool> present(n);
  for (const auto& row : table.rows) {
    present[row.column] = true;
    const auto words = words_of(row.text);
    std::size_t column = 0;
    while (column < n && column < words.size() && is_status(words[column].text)) {
      matrix.status[row.column * n + column] = words[column].text;
      ++column;
    }
    if (column < n) matrix.partial_rows.push_back(matrix.names[row.column]);
  }
  for (std::size_t i = 0; i < n; ++i)
    if (!present[i]) matrix.missing_rows.push_back(matrix.names[i]);
  std::vector<Finding> findings;
  if (matrix.truncated())
    findings.push_back(
        {Severity::warning, table.last_line,
         fmt::format(
             "the peer matrix is cut: {}{}",
             matrix.missing_rows.empty() ? "incomplete rows of " : "no row of ",
             fmt::join(matrix.missing_rows.empty() ? matrix.partial_rows : matrix.missing_rows,
                       ", "))});
  return Reading{.reader = "nvidia-smi topo -p2p",
                 .source = {},
                 .first_line = table.header_line,
                 .last_line = table.last_line,
                 .facts = std::move(matrix),
                 .findings = std::move(findings)};
}

}  // namespace

std::vector<Reading> read_peer_matrices(const Text& text) {
  std::vector<Reading> readings;
  for (const auto& table : find_device_tables(text, is_status))
    if (is_peer_table(table)) readings.push_back(read_table(table));
  return readings;
}

}  // namespace ringside
