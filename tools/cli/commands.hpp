// SPDX-License-Identifier: MIT
/// The subcommands of the `ringside` program. Each adds itself to the application and runs when it
/// was named.
///
/// A command prints its result with `print` and reports what it cannot do by throwing Error, which
/// main() turns into one line and exit code 2. It sets `exit_code` to 1 for a finding or a mismatch
/// and leaves it alone otherwise.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace ringside::cli {

void add_algorithms_command(CLI::App& app, int& exit_code);
void add_bench_command(CLI::App& app, int& exit_code);
void add_choose_command(CLI::App& app);
void add_diagnose_command(CLI::App& app, int& exit_code);
void add_explain_command(CLI::App& app, int& exit_code);
void add_options_command(CLI::App& app, int& exit_code);
void add_plan_command(CLI::App& app, int& exit_code);
void add_report_command(CLI::App& app);
void add_simulate_command(CLI::App& app);
void add_topo_command(CLI::App& app, int& exit_code);
void add_train_command(CLI::App& app, int& exit_code);

/// Writes to standard output. Throws Error(io) when it takes no more; main() knows a reader that
/// left (`ringside ... | head`) from a disk that is full.
void print(std::string_view text);
/// Hands over what was printed. Throws as `print` does.
void flush();

/// A line on standard error for every RINGSIDE_ variable of the environment that sets no option.
void warn_of_unknown_variables();

/// Adds `--format` with the words allowed, the first being the default, to a command.
void add_format_option(CLI::App& command, std::string& format,
                       std::initializer_list<std::string_view> words);

/// Throws Error(bad_input): "OPTION: expected EXPECTED, got TEXT".
[[noreturn]] void reject(std::string_view option, std::string_view expected, std::string_view text);

/// The whole number that an option was given. Throws Error(bad_input) naming the option.
[[nodiscard]] std::int64_t whole_number(std::string_view option, std::string_view text,
                                        std::int64_t minimum, std::int64_t maximum);

/// A number of parameters: "7e9", "350M", "1.3B"; K, M, G or B, T are powers of 1000.
[[nodiscard]] double parameters_in(std::string_view option, const std::string& text);

/// The bytes that an option was given ("64M").
[[nodiscard]] std::uint64_t size_in_bytes(std::string_view option, std::string_view text);

}  // namespace ringside::cli
