// SPDX-License-Identifier: MIT
/// Any text as the assignment of an option, and for the small parsers behind options: refused, or
/// set and shown as given.
#include <cmath>
#include <string>

#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"
#include "ringside/tests/fuzz/require.hpp"

namespace ringside::fuzz {
namespace {

void try_assignment(std::string_view text) try {
  set_option(text);
  const auto equals = text.find('=');
  require(equals != std::string_view::npos, "an assignment has an '='");
  const std::string name(text.substr(0, equals));
  bool shown = false;
  for (const auto& row : option_rows()) {
    require(row.error.empty(), "what was accepted can be read");
    if (row.name != name) continue;
    shown = row.current == text.substr(equals + 1) && row.source == OptionSource::program;
  }
  require(shown, "an option shows what was set");
  reset_option(name);
} catch (const Error& error) {
  require_refusal(error);
  require(std::string_view(error.what()).find('\n') == std::string_view::npos,
          "a message is one line");
}

void try_parsers(std::string_view text) {
  if (const auto size = parse_size(text))
    require(parse_size(format_size(*size)) == size, "a size is what its text says");
  if (const auto time = parse_duration(text))
    require(time->count() >= 0 && std::isfinite(time->count()) && !format_duration(*time).empty(),
            "a duration is finite and not negative");
  if (const auto number = parse_int(text))
    require(parse_int(std::to_string(*number)) == number, "a number is what its text says");
  if (const auto number = parse_number(text)) require(std::isfinite(*number), "a number is finite");
  if (const auto ranks = parse_ranks(text)) require(!ranks->empty(), "a list of ranks has one");
  const std::string quoted = quote(text);
  require(quoted.find('\n') == std::string::npos && quoted.size() <= 2 + 4 * 60 + 3,
          "quoted text is one short line");
}

}  // namespace

void run(std::string_view input) {
  try_assignment(input);
  try_parsers(input);
}

}  // namespace ringside::fuzz
