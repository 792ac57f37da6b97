// SPDX-License-Identifier: MIT
/// `ringside options`: every knob of the library as it stands, and who set it.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/base/json_write.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"
#include "ringside/tools/cli/commands.hpp"
#include "ringside/tools/cli/option_values.hpp"
#include "ringside/tools/cli/output.hpp"

namespace ringside::cli {
namespace {

/// Files that options name and that are not there, as errors of those rows.
void check_files(std::vector<OptionRow>& rows) {
  for (auto& row : rows) {
    if (!row.error.empty() || row.current.empty() ||
        (row.name != "tuning" && row.name != "plugins"))
      continue;
    for (const auto path : split(row.current, row.name == "plugins" ? ':' : '\0')) try {
        if (!path.empty() && row.error.empty()) (void)read_file(std::string(path));
      } catch (const Error& error) {
        row.error = error.what();
      }
  }
}

/// In the words of who types: what a program sets is what --set says.
std::string_view source_text(OptionSource source) {
  return source == OptionSource::program ? "--set" : to_string(source);
}

std::string to_text(std::span<const OptionRow> rows) {
  std::size_t name_width = 0;
  std::size_t variable_width = 0;
  std::size_t type_width = 0;
  for (const auto& row : rows) {
    name_width = std::max(name_width, row.name.size());
    variable_width = std::max(variable_width, row.variable.size());
    type_width = std::max(type_width, row.type.size());
  }
  std::string text;
  for (const auto& row : rows) {
    text +=
        fmt::format("{:<{}}  {:<{}}  {:<{}}  {} (from: {})\n", row.name, name_width, row.variable,
                    variable_width, row.type, type_width, row.current, source_text(row.source));
    text += fmt::format("    {}\n", row.meaning);
    text += fmt::format("    allowed: {}; default: {}\n", row.allowed, row.default_text);
    if (!row.error.empty()) text += fmt::format("    CANNOT BE READ: {}\n", row.error);
  }
  text += "\nSet one with --set NAME=VALUE, or in the environment through its variable.\n";
  return text;
}

Json to_json(std::span<const OptionRow> rows, std::span<const UnknownVariable> unknown) {
  Json options = Json::array();
  for (const auto& row : rows) {
    Json option = {{"name", row.name},
                   {"variable", row.variable},
                   {"type", row.type},
                   {"allowed", row.allowed},
                   {"default", row.default_text},
                   {"current", row.current},
                   {"source", to_string(row.source)},
                   {"meaning", row.meaning}};
    if (!row.error.empty()) option["error"] = row.error;
    options.push_back(std::move(option));
  }
  Json variables = Json::array();
  for (const auto& [variable, suggestion] : unknown) {
    Json entry = {{"variable", variable}};
    if (!suggestion.empty()) entry["suggestion"] = suggestion;
    variables.push_back(std::move(entry));
  }
  return {{"options", std::move(options)}, {"unknown_variables", std::move(variables)}};
}

void run(const std::string& format, int& exit_code) {
  auto rows = option_rows();
  check_files(rows);
  const auto unknown = unknown_option_variables();
  print(format == "json" ? dump_json(to_json(rows, unknown)) : to_text(rows));
  warn_of_unknown_variables();
  if (std::ranges::any_of(rows, [](const OptionRow& row) { return !row.error.empty(); }))
    exit_code = 1;
}

}  // namespace

void add_options_command(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "options", "List the library's options with their values and who set them");
  command->footer(
      "Exit code 1 when the environment holds a value that cannot be read, or names a file "
      "that cannot.");
  const auto format = std::make_shared<std::string>();
  add_format_option(*command, *format, {"text", "json"});
  command->callback([format, &exit_code] { run(*format, exit_code); });
}

}  // namespace ringside::cli
