// SPDX-License-Identifier: MIT
/// `ringside algorithms`: what a spec string may name, and with which parameters.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "ringside/base/json_write.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/tools/cli/commands.hpp"
#include "ringside/tools/cli/option_values.hpp"
#include "ringside/tools/cli/output.hpp"

namespace ringside::cli {
namespace {

struct Arguments {
  std::string name;
  std::string format;
};

std::vector<std::string_view> collective_names(const AlgorithmInfo& info) {
  std::vector<std::string_view> names;
  for (const auto collective : info.collectives) names.push_back(to_string(collective));
  return names;
}

std::string parameter_lines(std::span<const ParameterInfo> parameters) {
  std::size_t width = 0;
  std::size_t default_width = 0;
  for (const auto& parameter : parameters) {
    width = std::max(width, parameter.name.size());
    default_width = std::max(default_width, parameter.default_text.size());
  }
  std::string lines;
  for (const auto& [name, default_text, meaning] : parameters)
    lines +=
        fmt::format("    {:<{}}  {:<{}}  {}\n", name, width, default_text, default_width, meaning);
  return lines;
}

/// One algorithm in full: "NAME: summary", what it serves, parameters with their defaults.
std::string describe(const AlgorithmInfo& info) {
  std::string text = fmt::format("{}: {}\n", info.name, info.summary);
  text += fmt::format("  collectives: {}\n", fmt::join(collective_names(info), ", "));
  if (!info.reference.empty()) text += fmt::format("  reference: {}\n", info.reference);
  if (!info.origin.empty()) text += fmt::format("  plug-in: {}\n", info.origin);
  if (!info.parameters.empty())
    text += "  parameters (name, default, meaning):\n" + parameter_lines(info.parameters);
  return text;
}

std::string list(std::span<const std::reference_wrapper<const AlgorithmInfo>> algorithms) {
  std::string text;
  for (const AlgorithmInfo& info : algorithms) text += describe(info) + "\n";
  text += "every algorithm also takes (name, default, meaning):\n";
  text += parameter_lines(common_parameters());
  text += "\nA spec string is NAME or NAME:PARAMETER=VALUE,PARAMETER=VALUE: ring:slices=8\n";
  return text;
}

Json to_json(std::span<const ParameterInfo> parameters) {
  Json list = Json::array();
  for (const auto& [name, default_text, meaning] : parameters)
    list.push_back({{"name", name}, {"default", default_text}, {"meaning", meaning}});
  return list;
}

Json to_json(std::span<const std::reference_wrapper<const AlgorithmInfo>> algorithms) {
  Json list = Json::array();
  for (const AlgorithmInfo& info : algorithms)
    list.push_back({{"name", info.name},
                    {"summary", info.summary},
                    {"reference", info.reference},
                    {"plugin", info.origin},
                    {"collectives", collective_names(info)},
                    {"parameters", to_json(info.parameters)}});
  return {{"algorithms", std::move(list)}, {"common_parameters", to_json(common_parameters())}};
}

void run(const Arguments& arguments) {
  auto algorithms = registered_algorithms();
  if (!arguments.name.empty()) algorithms = {std::cref(find_algorithm(arguments.name))};
  if (arguments.format == "json")
    print(dump_json(to_json(algorithms)));
  else
    print(list(algorithms));
}

}  // namespace

void add_algorithms_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "algorithms", "List the algorithms, their parameters and where they are from");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("NAME", arguments->name, "Only this one")->type_name("");
  add_format_option(*command, arguments->format, {"text", "json"});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace ringside::cli
