// SPDX-License-Identifier: MIT
/// Options and what their words mean: commands take words, and read them here, so that a complaint
/// has one form. Everything that reads throws Error(bad_input), which names the option.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ringside/base/error.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/request.hpp"

namespace ringside::cli {

// --- adding them ---------------------------------------------------------------------------------

/// Adds options that take a word to a command.
class WordOptions {
 public:
  explicit WordOptions(CLI::App& command) : command_(command) {}
  /// `value`, its default, must outlive the parsing; `form` is what --help calls the word.
  CLI::Option* operator()(const std::string& names, std::string& value, const char* form,
                          const std::string& meaning) const {
    return command_.add_option(names, value, meaning)->type_name(form);
  }

 private:
  CLI::App& command_;
};

/// Adds an option that takes no word.
void add_switch(CLI::App& command, const std::string& name, bool& value,
                const std::string& meaning);
/// The same, not in --help.
void add_hidden_switch(CLI::App& command, const std::string& name, bool& value);

/// Adds `--format` with the words allowed, the first being the default.
void add_format_option(CLI::App& command, std::string& format,
                       std::initializer_list<std::string_view> words);

// --- which were given ----------------------------------------------------------------------------

/// Whether the command line has an option, by its long name without dashes.
using Given = std::function<bool(std::string_view name)>;
/// To be asked once the line is parsed; `command` must outlive it.
[[nodiscard]] Given given_on(const CLI::App& command);

/// Throws Error(bad_input) if one of the options is given, which "has no meaning `where`".
void refuse(const Given& given, std::initializer_list<std::string_view> names,
            std::string_view where);

// --- reading them --------------------------------------------------------------------------------

/// Throws Error(bad_input): "OPTION: expected EXPECTED, got TEXT".
[[noreturn]] void reject(std::string_view option, std::string_view expected, std::string_view text);

/// The value that `parse` knows the text by, one of `words`.
template <class Parse>
[[nodiscard]] auto one_of(std::string_view option, std::string_view text, Parse parse,
                          std::span<const std::string_view> words) {
  if (const auto value = parse(text)) return *value;
  throw Error(ErrorCode::bad_input,
              fmt::format("{}: expected one of {}, got {}{}", option, fmt::join(words, ", "),
                          quote(text), did_you_mean(text, words)));
}

[[nodiscard]] std::int64_t whole_number(std::string_view option, std::string_view text,
                                        std::int64_t minimum, std::int64_t maximum);

/// A number of parameters: "7e9", "350M", "1.3B"; K, M, G or B, T are powers of 1000.
[[nodiscard]] double parameters_in(std::string_view option, const std::string& text);

/// Bytes ("64M").
[[nodiscard]] std::uint64_t size_in_bytes(std::string_view option, std::string_view text);

/// A time that is more than nothing; `example`: of how it may be written.
[[nodiscard]] Seconds positive_time(std::string_view option, std::string_view text,
                                    std::string_view example);

[[nodiscard]] Collective collective_named(std::string_view option, std::string_view text);

}  // namespace ringside::cli
