// SPDX-License-Identifier: MIT
#include "ringside/tools/cli/option_values.hpp"

#include <vector>

namespace ringside::cli {

void add_switch(CLI::App& command, const std::string& name, bool& value,
                const std::string& meaning) {
  command.add_flag(name, value, meaning)->disable_flag_override();
}

void add_hidden_switch(CLI::App& command, const std::string& name, bool& value) {
  command.add_flag(name, value)->disable_flag_override()->group("");
}

void add_format_option(CLI::App& command, std::string& format,
                       std::initializer_list<std::string_view> words) {
  const std::vector<std::string_view> allowed(words);
  format = allowed.front();
  WordOptions{command}("--format", format, "WORD",
                       fmt::format("{} (default: {})", fmt::join(allowed, ", "), allowed.front()))
      ->check([allowed](const std::string& word) {
        for (const auto candidate : allowed)
          if (candidate == word) return std::string();
        return fmt::format("expected one of {}, got {}{}", fmt::join(allowed, ", "), quote(word),
                           did_you_mean(word, allowed));
      });
}

Given given_on(const CLI::App& command) {
  return [&command](std::string_view name) { return command.count(fmt::format("--{}", name)) > 0; };
}

void refuse(const Given& given, std::initializer_list<std::string_view> names,
            std::string_view where) {
  for (const auto name : names)
    if (given(name))
      throw Error(ErrorCode::bad_input, fmt::format("--{} has no meaning {}", name, where));
}

void reject(std::string_view option, std::string_view expected, std::string_view text) {
  throw Error(ErrorCode::bad_input,
              fmt::format("{}: expected {}, got {}", option, expected, quote(text)));
}

std::int64_t whole_number(std::string_view option, std::string_view text, std::int64_t minimum,
                          std::int64_t maximum) {
  const auto number = parse_int(text, minimum, maximum);
  if (!number) reject(option, fmt::format("a whole number from {} to {}", minimum, maximum), text);
  return *number;
}

double parameters_in(std::string_view option, const std::string& text) {
  constexpr std::string_view units = "KMGT";
  double scale = 1;
  std::string number = text;
  const char last = text.empty() ? ' ' : to_upper(text).back();
  if (const auto unit = units.find(last == 'B' ? 'G' : last); unit != std::string_view::npos) {
    for (std::size_t i = 0; i <= unit; ++i) scale *= 1000;
    number.pop_back();
  }
  const auto value = parse_number(number);
  if (!value || !(*value > 0) || *value * scale > 1e14)
    reject(option, "a number of parameters such as 350M or 7B", text);
  return *value * scale;
}

std::uint64_t size_in_bytes(std::string_view option, std::string_view text) {
  const auto size = parse_size(text);
  if (!size) reject(option, "a number of bytes such as 8, 64K or 1G", text);
  return *size;
}

Seconds positive_time(std::string_view option, std::string_view text, std::string_view example) {
  const auto time = parse_duration(text);
  if (!time || !(time->count() > 0)) reject(option, example, text);
  return *time;
}

Collective collective_named(std::string_view option, std::string_view text) {
  if (const auto collective = parse_collective(text)) return *collective;
  const auto guess = did_you_mean(text, collective_names());
  throw Error(
      ErrorCode::bad_input,
      fmt::format("{}: there is no collective {}{}", option, quote(text),
                  guess.empty() ? fmt::format(": there are {}", fmt::join(collective_names(), ", "))
                                : guess));
}

}  // namespace ringside::cli
