// SPDX-License-Identifier: MIT
#include "ringside/bench/accuracy/published.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"

namespace ringside::bench {
namespace {

constexpr std::size_t measured_columns = 10, row_columns = 9;
/// Where no size is stated ("large"): what nccl-tests' users take for large.
constexpr double large = 1 << 30;
constexpr double giga = 1e9;

[[noreturn]] void fail(std::string_view table, std::size_t line, const std::string& why) {
  throw Error(ErrorCode::bad_input, fmt::format("{}, line {}: {}", table, line, why));
}

/// Cells of all lines but the head.
std::vector<std::vector<std::string_view>> cells_of(std::string_view text, std::string_view table,
                                                    std::size_t columns) {
  std::vector<std::vector<std::string_view>> rows;
  std::size_t number = 0;
  for (const auto line : split(text, '\n')) {
    ++number;
    if (number == 1 || trim(line).empty()) continue;
    rows.push_back(split(line, '\t'));
    if (rows.back().size() != columns)
      fail(table, number, fmt::format("{} columns, not {}", rows.back().size(), columns));
  }
  return rows;
}

/// "1GiB", "131072008B", "4GB", "large".
std::optional<double> bytes_of(std::string_view text) {
  if (text == "large") return large;
  if (text.ends_with("GB"))
    if (const auto number = parse_number(text.substr(0, text.size() - 2))) return *number * giga;
  if (const auto bytes = parse_size(text)) return static_cast<double>(*bytes);
  return std::nullopt;
}

/// A size, or "8MiB..2GiB": that, twice as much, and so on.
std::optional<std::vector<double>> sizes_of(std::string_view text) {
  const auto dots = text.find("..");
  const auto first = bytes_of(text.substr(0, dots));
  const auto last = dots == std::string_view::npos ? first : bytes_of(text.substr(dots + 2));
  if (!first || !last || *first <= 0) return std::nullopt;
  std::vector<double> sizes;
  for (double size = *first; size <= *last; size *= 2) sizes.push_back(size);
  return sizes;
}

/// "8": GPUs 0 to 7; "0-2": these.
std::optional<std::vector<int>> gpus_of(std::string_view text) {
  if (text.find('-') != std::string_view::npos) return parse_ranks(text);
  const auto count = parse_int(text, 2, 1024);
  if (!count) return std::nullopt;
  std::vector<int> gpus(static_cast<std::size_t>(*count));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

PublishedRow read_row(const std::vector<std::string_view>& seen,
                      const std::vector<std::string_view>& meant, int number) {
  const auto line = static_cast<std::size_t>(number) + 1;
  PublishedRow row{.row = number,
                   .system = std::string(seen[0]),
                   .topology = std::string(seen[1]),
                   .collective = std::string(seen[3]),
                   .size = std::string(seen[4]),
                   .source = std::string(seen[8]),
                   .notes = std::string(seen[9]),
                   .gpus = static_cast<int>(parse_int(seen[2]).value_or(0)),
                   .measured = 0,
                   .group = std::string(meant[1]),
                   .machine = std::string(meant[2]),
                   .what_if = {},
                   .ranks_on = {},
                   .way = std::string(meant[5]),
                   .bytes = {},
                   .excluded_because = std::string(meant[7]),
                   .remark = std::string(meant[8])};
  if (parse_int(meant[0]) != number)
    fail("rows", line, fmt::format("row {} expected, not {}", number, quote(meant[0])));
  const auto measured = parse_number(seen[6].empty() ? seen[5] : seen[6]);
  if (!measured || *measured <= 0) fail("measured", line, "no bandwidth");
  row.measured = *measured;
  if (!row.excluded_because.empty()) return row;
  for (const auto word : split(meant[3], ','))
    if (!word.empty()) row.what_if.emplace_back(word);
  const auto gpus = gpus_of(meant[4]);
  const auto sizes = sizes_of(meant[6].empty() ? seen[4] : meant[6]);
  if (!gpus) fail("rows", line, "GPUs: a number of them, or a list such as 0-2");
  if (!sizes) fail("rows", line, "a size such as 1GiB");
  row.ranks_on = *gpus;
  row.bytes = *sizes;
  return row;
}

}  // namespace

std::vector<PublishedRow> read_published(std::string_view measured, std::string_view rows) {
  const auto seen = cells_of(measured, "measured", measured_columns);
  const auto meant = cells_of(rows, "rows", row_columns);
  if (seen.size() != meant.size())
    throw Error(ErrorCode::bad_input,
                fmt::format("{} rows are measured, {} have a machine", seen.size(), meant.size()));
  std::vector<PublishedRow> published;
  for (std::size_t i = 0; i < seen.size(); ++i)
    published.push_back(read_row(seen[i], meant[i], static_cast<int>(i) + 1));
  return published;
}

}  // namespace ringside::bench
