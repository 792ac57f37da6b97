// SPDX-License-Identifier: MIT
/// What the commands share: printing, and reading the values of options.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"
#include "ringside/tools/cli/commands.hpp"
#include "ringside/tools/cli/visible.hpp"

namespace ringside::cli {

namespace {

[[noreturn]] void fail_to_write(int error) {
  throw Error(ErrorCode::io, fmt::format("cannot write standard output: {}",
                                         to_lower(std::generic_category().message(error))));
}

}  // namespace

void print(std::string_view text) {
  if (has_controls(text)) return print(visible(text));
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail_to_write(errno);
}

void flush() {
  if (std::fflush(stdout) != 0) fail_to_write(errno);
}

void warn_of_unknown_variables() {
  for (const auto& [variable, suggestion] : unknown_option_variables())
    fmt::print(stderr, "ringside: warning: {} is set, but is no option's variable{}\n", variable,
               suggestion.empty() ? "" : fmt::format(" (did you mean {}?)", suggestion));
}

void add_format_option(CLI::App& command, std::string& format,
                       std::initializer_list<std::string_view> words) {
  const std::vector<std::string_view> allowed(words);
  format = allowed.front();
  command
      .add_option("--format", format,
                  fmt::format("{} (default: {})", fmt::join(allowed, ", "), allowed.front()))
      ->type_name("WORD")
      ->check([allowed](const std::string& word) {
        for (const auto candidate : allowed)
          if (candidate == word) return std::string();
        return fmt::format("expected one of {}, got {}{}", fmt::join(allowed, ", "), quote(word),
                           did_you_mean(word, allowed));
      });
}

void reject(std::string_view option, std::string_view expected, std::string_view text) {
  throw Error(ErrorCode::bad_input,
              fmt::format("{}: expected {}, got {}", option, expected, quote(text)));
}

std::int64_t whole_number(std::string_view option, std::string_view text, std::int64_t minimum,
                          std::int64_t maximum) {
  const auto number = parse_int(text, minimum, maximum);
  if (!number)
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: expected a whole number from {} to {}, got {}", option, minimum,
                            maximum, quote(text)));
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
  if (!size)
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: expected a number of bytes such as 8, 64K or "
                            "1G, got {}",
                            option, quote(text)));
  return *size;
}

}  // namespace ringside::cli
