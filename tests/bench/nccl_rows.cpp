// SPDX-License-Identifier: MIT
#include "ringside/tests/bench/nccl_rows.hpp"

#include <algorithm>
#include <span>

#include "ringside/base/text.hpp"

namespace ringside::tests {
namespace {

using Words = std::span<const std::string_view>;

/// "[1,0]<stdout>:" of mpirun --tag-output.
std::string_view without_tag(std::string_view line) {
  constexpr std::string_view end = "<stdout>:";
  line = trim(line);
  const auto at = line.find(end);
  if (!line.starts_with('[') || at == std::string_view::npos) return line;
  return trim(line.substr(at + end.size()));
}

/// Whole numbers, also with underscores between the digits.
std::optional<std::uint64_t> whole(std::string_view word) {
  std::string digits(word);
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  const auto number = parse_int(digits);
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

bool is_not_available(std::string_view word) { return word == "N/A"; }

/// Three numbers and perhaps a check; an empty result in `fields` where all are N/A. False if the
/// words are anything else.
bool read_fields(Words words, std::optional<NcclFields>& fields) {
  if (std::all_of(words.begin(), words.end(), is_not_available)) return true;
  const auto time = parse_number(words[0]);
  const auto algbw = parse_number(words[1]);
  const auto busbw = parse_number(words[2]);
  if (!time || !algbw || !busbw) return false;
  std::string check;
  if (words.size() > 3) {
    if (!is_not_available(words[3]) && !parse_number(words[3])) return false;
    check = words[3];
  }
  fields = NcclFields{*time, *algbw, *busbw, check};
  return true;
}

std::optional<NcclRow> read_row(Words words) {
  NcclRow row;
  row.fields = words.size();
  row.size = *whole(words[0]);
  if (words.size() == 4) {
    if (!read_fields(words.subspan(1), row.out_of_place)) return std::nullopt;
    return row;
  }
  if (words.size() < 11 || words.size() > 13) return std::nullopt;
  row.count = whole(words[1]);
  row.type = words[2];
  const auto numbers = words.last(8);
  if (!row.count || !read_fields(numbers.first(4), row.out_of_place) ||
      !read_fields(numbers.last(4), row.in_place))
    return std::nullopt;
  return row;
}

/// What stands behind "# NAME :".
std::optional<std::string> footer(std::string_view line, std::string_view name) {
  const auto at = line.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  const auto colon = line.find(':', at);
  if (colon == std::string_view::npos) return std::nullopt;
  return std::string(trim(line.substr(colon + 1)));
}

}  // namespace

NcclText read_nccl_text(std::string_view text) {
  NcclText result;
  for (const auto raw : split(text, '\n')) {
    const auto line = without_tag(raw);
    if (const auto bounds = footer(line, "Out of bounds values"); bounds && !result.out_of_bounds)
      result.out_of_bounds = bounds;
    if (const auto average = footer(line, "Avg bus bandwidth"); average && !result.average_busbw) {
      const auto words = split_blanks(*average);
      if (!words.empty()) result.average_busbw = parse_number(words[0]);
    }
    const auto words = split_blanks(line);
    if (words.empty() || !whole(words[0])) continue;
    if (auto row = read_row(words))
      result.rows.push_back(std::move(*row));
    else
      result.has_incomplete_rows = true;
  }
  return result;
}

}  // namespace ringside::tests
