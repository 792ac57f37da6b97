// SPDX-License-Identifier: MIT
#include "ringside/collectives/spec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

#include "ringside/base/error.hpp"

namespace ringside {
namespace {

constexpr std::size_t longest_spec = 65536;  // an order of some thousand ranks fits
constexpr int most_levels = 16;              // of specs in specs: making an algorithm recurses

/// Foreign text as it stands in a message: one line, not endless.
std::string shown(std::string_view text) {
  constexpr std::size_t longest = 200;
  std::string result;
  for (const char c : text.substr(0, longest))
    result += c >= ' ' && c <= '~' ? std::string(1, c)
              : c == '\n'          ? "\\n"
                                   : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return text.size() > longest ? result + "..." : result;
}

[[noreturn]] void reject_text(std::string_view text, std::string_view why) {
  throw Error(ErrorCode::bad_input, fmt::format("spec '{}': {}", shown(text), why));
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_name_character);
}

/// Cuts at `separator` outside parentheses. Throws on unbalanced ones.
std::vector<std::string_view> split_outside_parentheses(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int level = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' && ++level > most_levels)
      reject_text(text, fmt::format("more than {} parentheses in each other", most_levels));
    if (text[i] == ')' && --level < 0) reject_text(text, "a ')' without its '('");
    if (text[i] == separator && level == 0) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  if (level > 0) reject_text(text, "a '(' without its ')'");
  parts.push_back(text.substr(begin));
  return parts;
}

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view without_parentheses(std::string_view text) {
  if (text.size() >= 2 && text.front() == '(' && text.back() == ')')
    return text.substr(1, text.size() - 2);
  return text;
}

/// Empty, or why `ranks` is not a list of some of 0..n-1, each at most once.
std::string read_ranks(std::string_view text, int n, std::vector<bool>& seen,
                       std::vector<int>& ranks) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('-', begin), text.size());
    const auto rank = whole_number(text.substr(begin, end - begin));
    if (!rank) return "expected ranks joined by '-', as in 0-1-3-2";
    if (*rank < 0 || *rank >= n) return fmt::format("there is no rank {} among {}", *rank, n);
    if (seen[static_cast<std::size_t>(*rank)]) return fmt::format("rank {} is there twice", *rank);
    seen[static_cast<std::size_t>(*rank)] = true;
    ranks.push_back(*rank);
    begin = end + 1;
  }
  return {};
}

}  // namespace

bool is_plan_file(std::string_view text) {
  return text.substr(0, text.find(':')).find_first_of("./") != std::string_view::npos;
}

Spec parse_spec(std::string_view text) {
  if (text.size() > longest_spec) reject_text(text, "it is too long");
  if (is_plan_file(text)) {
    if (std::any_of(text.begin(), text.end(), is_control))
      reject_text(text, "the path of a plan file has a control character");
    return {std::string(text), {}};
  }
  const std::size_t colon = text.find(':');
  Spec spec{std::string(text.substr(0, colon)), {}};
  if (!is_name(spec.name)) reject_text(text, "expected NAME or NAME:PARAMETER=VALUE,...");
  if (colon == std::string_view::npos) return spec;
  for (const auto part : split_outside_parentheses(text.substr(colon + 1), ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || !is_name(part.substr(0, equals)) ||
        equals + 1 == part.size())
      reject_text(text, fmt::format("expected PARAMETER=VALUE, not '{}'", shown(part)));
    // A spec in a spec needs no parentheses as long as it has no comma.
    if (split_outside_parentheses(part, ':').size() > most_levels)
      reject_text(text, fmt::format("more than {} specs in each other", most_levels));
    std::string name(part.substr(0, equals));
    for (const auto& [earlier, value] : spec.parameters)
      if (earlier == name) reject_text(text, fmt::format("'{}' is given twice", name));
    spec.parameters.emplace_back(std::move(name), std::string(part.substr(equals + 1)));
  }
  return spec;
}

std::string to_string(const Spec& spec) {
  std::string text = spec.name;
  char joint = ':';
  for (const auto& [name, value] : spec.parameters) {
    text += fmt::format("{}{}={}", joint, name, value);
    joint = ',';
  }
  return text;
}

std::string with_parameters(std::string_view spec, std::string_view parameters) {
  if (parameters.empty()) return std::string(spec);
  if (is_plan_file(spec)) reject_text(spec, "a plan file takes no parameters");
  return fmt::format("{}{}{}", spec, spec.find(':') == std::string_view::npos ? ':' : ',',
                     parameters);
}

std::vector<std::string> split_specs(std::string_view text) {
  std::vector<std::string> specs;
  for (const auto part : split_outside_parentheses(text, ',')) {
    const std::size_t equals = part.find('=');
    const bool continues = !specs.empty() && !is_plan_file(specs.back()) &&
                           equals != std::string_view::npos && is_name(part.substr(0, equals)) &&
                           specs.back().find(':') != std::string::npos;
    if (continues)
      specs.back() += fmt::format(",{}", part);
    else if (is_plan_file(without_parentheses(part)))
      specs.emplace_back(without_parentheses(part));
    else
      specs.emplace_back(part);
  }
  return specs;
}

const std::string* Parameters::find(std::string_view name) const {
  for (const auto& [key, value] : spec_.parameters)
    if (key == name) return &value;
  return nullptr;
}

void Parameters::reject(std::string_view name, const std::string& why) const {
  const std::string* value = find(name);
  throw Error(ErrorCode::bad_input,
              fmt::format("{}: {}={}: {}", spec_.name, name, shown(value ? *value : ""), why));
}

int Parameters::integer(std::string_view name, int absent, int least, int most) const {
  const std::string* text = find(name);
  if (!text) return absent;
  const auto value = whole_number(*text);
  if (!value || *value < least || *value > most)
    reject(name, fmt::format("expected a whole number from {} to {}", least, most));
  return *value;
}

std::string Parameters::choice(std::string_view name, std::span<const std::string_view> allowed,
                               std::string_view absent) const {
  const std::string* text = find(name);
  if (!text) return std::string(absent);
  if (std::find(allowed.begin(), allowed.end(), *text) == allowed.end())
    reject(name, fmt::format("expected one of {}", fmt::join(allowed, ", ")));
  return *text;
}

std::vector<int> Parameters::order(std::string_view name, int ranks) const {
  std::vector<int> order;
  const std::string* text = find(name);
  if (!text) {
    order.resize(static_cast<std::size_t>(ranks));
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  std::vector<bool> seen(static_cast<std::size_t>(ranks));
  if (const auto why = read_ranks(*text, ranks, seen, order); !why.empty()) reject(name, why);
  if (order.size() != static_cast<std::size_t>(ranks))
    reject(name, fmt::format("it names {} ranks of {}", order.size(), ranks));
  return order;
}

std::vector<std::vector<int>> Parameters::groups(std::string_view name, int ranks) const {
  std::vector<std::vector<int>> groups;
  const std::string* text = find(name);
  if (!text) return groups;
  std::vector<bool> seen(static_cast<std::size_t>(ranks));
  for (const auto part : split_outside_parentheses(*text, '/')) {
    groups.emplace_back();
    if (const auto why = read_ranks(part, ranks, seen, groups.back()); !why.empty())
      reject(name, why);
  }
  if (const auto missing = std::find(seen.begin(), seen.end(), false); missing != seen.end())
    reject(name, fmt::format("rank {} is in no group", missing - seen.begin()));
  return groups;
}

Spec Parameters::spec(std::string_view name, std::string_view absent) const {
  const std::string* text = find(name);
  return parse_spec(without_parentheses(text ? std::string_view(*text) : absent));
}

}  // namespace ringside
