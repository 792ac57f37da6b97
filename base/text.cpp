// SPDX-License-Identifier: MIT
/// The parsers, formatters and the edit distance.
#include "ringside/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <system_error>
#include <utility>

namespace ringside {

namespace {

constexpr std::string_view blanks = " \t\r\n\v\f";

// <cctype> depends on the locale, and takes int.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

template <class T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

/// "1.5us" -> {"1.5", "us"}.
std::pair<std::string_view, std::string_view> split_unit(std::string_view text) {
  std::size_t unit = 0;
  while (unit < text.size() && (is_digit(text[unit]) || text[unit] == '.')) ++unit;
  return {text.substr(0, unit), text.substr(unit)};
}

/// A number that starts and ends with a digit, without sign or exponent.
std::optional<double> parse_magnitude(std::string_view text) {
  if (text.empty() || !is_digit(text.front()) || !is_digit(text.back())) return std::nullopt;
  return parse_number(text);
}

template <class String>
std::string join_parts(std::span<const String> parts, std::string_view separator) {
  std::string joined;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) joined += separator;
    joined += parts[i];
  }
  return joined;
}

template <char (*convert)(char)>
std::string converted(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), convert);
  return result;
}

constexpr std::string_view size_units = "KMGT";

}  // namespace

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> fields;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != std::string_view::npos;) {
    fields.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  fields.push_back(text.substr(begin));
  return fields;
}

std::vector<std::string_view> split_blanks(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t end = 0;;) {
    const auto begin = text.find_first_not_of(blanks, end);
    if (begin == std::string_view::npos) return words;
    end = std::min(text.find_first_of(blanks, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
  }
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  return join_parts(parts, separator);
}

std::string join(std::span<const std::string_view> parts, std::string_view separator) {
  return join_parts(parts, separator);
}

std::string to_lower(std::string_view text) { return converted<lower>(text); }
std::string to_upper(std::string_view text) { return converted<upper>(text); }

std::string quote(std::string_view text, std::size_t longest) {
  std::string quoted = "\"";
  for (const char c : text.substr(0, longest)) {
    if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c >= ' ' && c <= '~') {
      quoted += c;
    } else {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  quoted += '"';
  if (text.size() > longest) quoted += "...";
  return quoted;
}

std::optional<std::int64_t> parse_int(std::string_view text) {
  return parse_whole<std::int64_t>(text);
}

std::optional<std::int64_t> parse_int(std::string_view text, std::int64_t minimum,
                                      std::int64_t maximum) {
  const auto value = parse_int(text);
  if (!value || *value < minimum || *value > maximum) return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  const auto value = parse_whole<double>(text);  // from_chars refuses hexadecimal by itself
  if (!value || !std::isfinite(*value)) return std::nullopt;
  return value;
}

std::optional<bool> parse_bool(std::string_view text) {
  const std::string word = to_lower(text);
  if (word == "true" || word == "yes" || word == "on" || word == "1") return true;
  if (word == "false" || word == "no" || word == "off" || word == "0") return false;
  return std::nullopt;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  auto [number, unit] = split_unit(text);
  std::uint64_t scale = 1;
  if (!unit.empty() && unit != "B") {
    const auto power = size_units.find(upper(unit.front()));
    if (power == std::string_view::npos) return std::nullopt;
    unit.remove_prefix(1);
    if (!unit.empty() && unit != "iB") return std::nullopt;
    scale = std::uint64_t{1} << (10 * (power + 1));
  }
  if (const auto whole = parse_whole<std::uint64_t>(number)) {
    if (*whole > std::numeric_limits<std::uint64_t>::max() / scale) return std::nullopt;
    return *whole * scale;
  }
  const auto fraction = parse_magnitude(number);
  if (!fraction) return std::nullopt;
  const double bytes = *fraction * static_cast<double>(scale);
  constexpr double exact_limit = 9007199254740992.0;  // 2^53: above it a double may have rounded
  if (bytes > exact_limit || bytes != std::floor(bytes)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::optional<Seconds> parse_duration(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 7> units{{{"", 1},
                                                                      {"s", 1},
                                                                      {"ms", 1e3},
                                                                      {"us", 1e6},
                                                                      {"ns", 1e9},
                                                                      {"m", 1.0 / 60},
                                                                      {"h", 1.0 / 3600}}};
  const auto [number, unit] = split_unit(text);
  const auto value = parse_magnitude(number);
  const auto found = std::ranges::find(units, unit, &std::pair<std::string_view, double>::first);
  if (!value || found == units.end()) return std::nullopt;
  return Seconds(*value / found->second);  // dividing by 1e6 rounds once, multiplying by 1e-6 twice
}

std::optional<std::vector<int>> parse_ranks(std::string_view text, char separator) {
  std::vector<int> ranks;
  for (const auto field : split(text, separator)) {
    const auto rank = parse_int(field, 0, std::numeric_limits<int>::max());
    if (!rank) return std::nullopt;
    ranks.push_back(static_cast<int>(*rank));
  }
  return ranks;
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  std::size_t power = 0;
  // 1023.96 KiB would print as "1024 KiB".
  while (value >= 1023.95 && power < size_units.size()) {
    value /= 1024;
    ++power;
  }
  std::string number = fmt::format("{:.1f}", value);
  if (number.ends_with(".0")) number.resize(number.size() - 2);
  return fmt::format("{} {}iB", number, size_units[power - 1]);
}

std::string format_between(std::uint64_t before, std::uint64_t behind) {
  return fmt::format("between {} and {}", format_bytes(before), format_bytes(behind));
}

std::string format_size(std::uint64_t bytes) {
  std::size_t power = 0;
  while (bytes != 0 && bytes % 1024 == 0 && power < size_units.size()) {
    bytes /= 1024;
    ++power;
  }
  std::string text = fmt::format("{}", bytes);
  if (power != 0) text += size_units[power - 1];
  return text;
}

std::string format_duration(Seconds time) {
  const double seconds = time.count();
  const double magnitude = std::abs(seconds);
  if (magnitude == 0) return "0 s";
  if (magnitude >= 0.9995) return fmt::format("{} s", std::stod(fmt::format("{:.3g}", seconds)));
  if (magnitude >= 0.9995e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (magnitude >= 0.9995e-6) return fmt::format("{:.3g} us", seconds * 1e6);
  return fmt::format("{:.3g} ns", seconds * 1e9);
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // One row of the Wagner-Fischer table: distance from the first i of a to the first j of b.
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

std::optional<std::string_view> closest(std::string_view name,
                                        std::span<const std::string_view> candidates) {
  constexpr std::size_t longest = 100;  // pasted rubbish is no typing error, and costs its square
  if (name.size() > longest) return std::nullopt;
  const std::string wanted = to_lower(name);
  std::optional<std::string_view> best;
  std::size_t best_distance = 0;
  for (const auto candidate : candidates) {
    const std::size_t distance = edit_distance(wanted, to_lower(candidate));
    if (3 * distance > std::max(name.size(), candidate.size())) continue;
    if (best && distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  const auto guess = closest(name, candidates);
  return guess ? fmt::format(" (did you mean \"{}\"?)", *guess) : std::string();
}

}  // namespace ringside
