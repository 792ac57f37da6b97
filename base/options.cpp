// SPDX-License-Identifier: MIT
/// Reading, setting and printing the options.
#include "ringside/base/options.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <variant>

#include "ringside/base/environment.hpp"
#include "ringside/base/error.hpp"
#include "ringside/base/keep.hpp"
#include "ringside/base/text.hpp"

namespace ringside {

namespace {

constexpr std::string_view variable_prefix = "RINGSIDE_";

using Value = std::variant<bool, std::int64_t, std::optional<std::int64_t>, std::uint64_t, Seconds,
                           std::string>;

/// An option's text and who gave it.
struct Given {
  std::string text;
  OptionSource source;
};

/// What the program set; the default and the environment need no state.
struct Settings {
  std::mutex mutex;
  std::array<std::optional<std::string>, option_table.size()> program;
};

Settings& settings() {
  static Settings& instance = never_destroyed<Settings>();
  return instance;
}

std::string variable_of(const OptionDefinition& row) {
  return std::string(variable_prefix) + to_upper(row.name);
}

std::string_view type_name(OptionType type) {
  switch (type) {
    case OptionType::boolean:
      return "bool";
    case OptionType::integer:
      return "integer";
    case OptionType::automatic_count:
      return "count";
    case OptionType::size:
      return "size";
    case OptionType::duration:
      return "duration";
    case OptionType::text:
      return "text";
    case OptionType::choice:
      return "choice";
  }
  return "?";
}

std::string limit_text(OptionType type, double limit) {
  if (type == OptionType::size) return format_size(static_cast<std::uint64_t>(limit));
  if (type == OptionType::duration) {
    std::string text = format_duration(Seconds(limit));
    std::erase(text, ' ');  // in the form in which it would be set
    return text;
  }
  return fmt::format("{}", static_cast<std::int64_t>(limit));
}

/// The values allowed: "1ms..300s", "auto|baseline|avx2". Of a boolean what parse_bool takes.
std::string allowed_text(const OptionDefinition& row) {
  switch (row.type) {
    case OptionType::boolean:
      return "1|0, true|false, yes|no or on|off";
    case OptionType::text:
      return "any";
    case OptionType::choice:
      return std::string(row.choices);
    default:
      break;
  }
  const std::string first = limit_text(row.type, row.minimum);
  const std::string range = row.maximum == std::numeric_limits<double>::infinity()
                                ? first + " or more"
                                : first + ".." + limit_text(row.type, row.maximum);
  return row.type == OptionType::automatic_count ? "auto|" + range : range;
}

template <class T>
std::optional<T> within(const OptionDefinition& row, std::optional<T> value, double number) {
  return number >= row.minimum && number <= row.maximum ? value : std::nullopt;
}

std::optional<std::int64_t> parse_count(const OptionDefinition& row, std::string_view text) {
  const auto value = parse_int(text);
  return value ? within(row, value, static_cast<double>(*value)) : std::nullopt;
}

template <class T>
std::optional<Value> as_value(std::optional<T> parsed) {
  return parsed ? std::optional<Value>(std::in_place, std::in_place_type<T>, *parsed)
                : std::nullopt;
}

/// Empty when the text is not one of the option's values.
std::optional<Value> parse_value(const OptionDefinition& row, std::string_view text) {
  switch (row.type) {
    case OptionType::boolean:
      return as_value(parse_bool(text));
    case OptionType::integer:
      return as_value(parse_count(row, text));
    case OptionType::automatic_count: {
      if (text == "auto") return Value(std::optional<std::int64_t>());
      const auto count = parse_count(row, text);
      return count ? std::optional<Value>(Value(count)) : std::nullopt;
    }
    case OptionType::size: {
      const auto size = parse_size(text);
      return size ? as_value(within(row, size, static_cast<double>(*size))) : std::nullopt;
    }
    case OptionType::duration: {
      const auto time = parse_duration(text);
      return time ? as_value(within(row, time, time->count())) : std::nullopt;
    }
    case OptionType::text:
      return Value(std::string(text));
    case OptionType::choice: {
      const auto words = split(row.choices, '|');
      if (std::ranges::find(words, text) == words.end()) return std::nullopt;
      return Value(std::string(text));
    }
  }
  return std::nullopt;
}

/// "RINGSIDE_ISA: expected auto|baseline|avx2|avx512, got "avx3" (did you mean ...?)".
std::string complaint(const OptionDefinition& row, std::string_view subject,
                      std::string_view text) {
  std::string hint;
  if (row.type == OptionType::choice) hint = did_you_mean(text, split(row.choices, '|'));
  return fmt::format("{}: expected {} {} ({}), got {}{}", subject,
                     row.type == OptionType::integer ? "an" : "a", type_name(row.type),
                     allowed_text(row), quote(text), hint);
}

std::size_t index_of(std::string_view name) {
  const auto row = std::ranges::find(option_table, name, &OptionDefinition::name);
  if (row != option_table.end()) return static_cast<std::size_t>(row - option_table.begin());
  std::vector<std::string_view> names;
  for (const auto& known : option_table) names.push_back(known.name);
  throw Error(ErrorCode::bad_input,
              fmt::format("no option is named {}{}", quote(name), did_you_mean(name, names)));
}

Given given(std::size_t index) {
  auto& [mutex, program] = settings();
  const std::lock_guard lock(mutex);
  if (program[index]) return {*program[index], OptionSource::program};
  const auto& row = option_table[index];
  // An empty variable counts as unset: `RINGSIDE_ISA= ringside ...` is how shells take one back.
  if (const char* text = std::getenv(variable_of(row).c_str()); text != nullptr && *text != '\0')
    return {text, OptionSource::environment};
  return {std::string(row.default_text), OptionSource::default_value};
}

std::optional<std::string> exchange_program_text(std::size_t index,
                                                 std::optional<std::string> text) {
  const auto& row = option_table[index];
  if (text && !parse_value(row, *text))
    throw Error(ErrorCode::bad_input, complaint(row, fmt::format("option {}", row.name), *text));
  auto& [mutex, program] = settings();
  const std::lock_guard lock(mutex);
  return std::exchange(program[index], std::move(text));
}

}  // namespace

std::string_view to_string(OptionSource source) {
  switch (source) {
    case OptionSource::default_value:
      return "default";
    case OptionSource::environment:
      return "environment";
    case OptionSource::program:
      return "program";
  }
  return "?";
}

std::string environment_text(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? std::string() : text;
}

bool environment_has(const char* variable) { return std::getenv(variable) != nullptr; }

template <class T>
T detail::read_option(std::size_t index) {
  const auto& row = option_table[index];
  const Given now = given(index);
  const auto value = parse_value(row, now.text);
  if (!value) throw Error(ErrorCode::bad_input, complaint(row, variable_of(row), now.text));
  return std::get<T>(*value);
}

template bool detail::read_option(std::size_t);
template std::int64_t detail::read_option(std::size_t);
template std::optional<std::int64_t> detail::read_option(std::size_t);
template std::uint64_t detail::read_option(std::size_t);
template Seconds detail::read_option(std::size_t);
template std::string detail::read_option(std::size_t);

void set_option(std::string_view name, std::string_view text) {
  exchange_program_text(index_of(name), std::string(text));
}

void set_option(std::string_view assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos)
    throw Error(ErrorCode::bad_input,
                fmt::format("an option is set as name=value, got {}", quote(assignment)));
  set_option(assignment.substr(0, equals), assignment.substr(equals + 1));
}

void reset_option(std::string_view name) { exchange_program_text(index_of(name), std::nullopt); }

ScopedOption::ScopedOption(std::string_view name, std::string_view text)
    : index_(index_of(name)), before_(exchange_program_text(index_, std::string(text))) {}

ScopedOption::~ScopedOption() {
  auto& [mutex, program] = settings();
  const std::lock_guard lock(mutex);
  program[index_] = std::move(before_);
}

std::vector<OptionRow> option_rows() {
  std::vector<OptionRow> rows;
  for (std::size_t i = 0; i < option_table.size(); ++i) {
    const auto& row = option_table[i];
    Given now = given(i);
    std::string error;
    if (!parse_value(row, now.text)) error = complaint(row, variable_of(row), now.text);
    rows.push_back({.name = std::string(row.name),
                    .variable = variable_of(row),
                    .type = std::string(type_name(row.type)),
                    .allowed = allowed_text(row),
                    .default_text = std::string(row.default_text),
                    .current = std::move(now.text),
                    .source = now.source,
                    .meaning = std::string(row.meaning),
                    .error = std::move(error)});
  }
  return rows;
}

std::vector<UnknownVariable> unknown_option_variables() {
  std::vector<std::string> known;
  for (const auto& row : option_table) known.push_back(variable_of(row));
  const std::vector<std::string_view> candidates(known.begin(), known.end());

  std::vector<UnknownVariable> unknown;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view variable = text.substr(0, text.find('='));
    if (!variable.starts_with(variable_prefix)) continue;
    if (std::ranges::find(candidates, variable) != candidates.end()) continue;
    // The prefix is common to all and must not count as likeness.
    std::vector<std::string_view> names;
    for (const auto candidate : candidates)
      names.push_back(candidate.substr(variable_prefix.size()));
    const auto guess = closest(variable.substr(variable_prefix.size()), names);
    unknown.push_back({std::string(variable),
                       guess ? std::string(variable_prefix) + std::string(*guess) : std::string()});
  }
  std::ranges::sort(unknown, {}, &UnknownVariable::variable);
  return unknown;
}

}  // namespace ringside
