// SPDX-License-Identifier: MIT
#include "ringside/tools/cli/machine_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/base/file.hpp"
#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"
#include "ringside/tools/cli/option_values.hpp"
#include "ringside/topology/describe.hpp"
#include "ringside/topology/live/live.hpp"
#include "ringside/topology/load.hpp"
#include "ringside/topology/model/what_if.hpp"

namespace ringside::cli {
namespace {

bool is_library_option(std::string_view assignment) {
  const auto name = assignment.substr(0, assignment.find('='));
  return std::any_of(option_table.begin(), option_table.end(),
                     [&](const OptionDefinition& option) { return option.name == name; });
}

std::string what_if_help() {
  std::string text = "What if something were different; may be given again:";
  for (const WhatIfWord& word : what_if_words())
    text += fmt::format("\n  {:20} {}", word.form, word.meaning);
  return text;
}

Topology topology_of(const MachineArguments& arguments) {
  if (arguments.live && !arguments.topology.empty())
    throw Error(ErrorCode::bad_input, "--live is this machine: it goes with no --topo");
  if (arguments.live) return read_live({}).topology;
  if (arguments.topology.empty())
    throw Error(ErrorCode::bad_input,
                "--topo is required: a preset (ringside topo --list-presets), a file, or --live");
  auto loaded = load_topology(arguments.topology);
  if (!loaded.built)
    throw Error(ErrorCode::bad_input, fmt::format("{}: no input tells how devices are linked",
                                                  arguments.topology_option));
  return std::move(loaded.built->topology);
}

struct ChosenModel {
  LinkModel model;
  std::string why;
};

ChosenModel model_of(const MachineArguments& arguments, const Topology& topology) {
  if (arguments.model.empty()) {
    const ModelChoice choice = link_model_for(topology);
    return {*choice.model, choice.why};
  }
  const bool is_file = arguments.model.find_first_of("./") != std::string::npos;
  return {is_file ? link_model_from_json(read_file(arguments.model), arguments.model)
                  : link_model_named(arguments.model),
          fmt::format("as {} says", arguments.model_option)};
}

std::string name_of(const MachineArguments& arguments, const Topology& topology) {
  if (arguments.live) return topology.name.empty() ? "this machine" : topology.name;
  if (!topology.name.empty()) return topology.name;
  std::vector<std::string> names;
  for (const auto& input : arguments.topology) names.push_back(source_name(input));
  return fmt::format("{}", fmt::join(names, " + "));
}

Machine made(MachineDescription description) {
  return {std::move(description.topology), std::move(description.model), description.settings};
}

}  // namespace

void add_machine_options(CLI::App& command, MachineArguments& arguments) {
  command
      .add_option("--topo", arguments.topology,
                  "The machine: a preset, files that describe one, or -\n"
                  "for standard input (see ringside topo)")
      ->type_name("PRESET|FILE");
  add_switch(command, "--live", arguments.live,
             "This machine, from the kernel and the NVIDIA driver");
  command
      .add_option("--model", arguments.model,
                  "Link model: a class of machines, or a file (default:\n"
                  "the class that fits the machine)")
      ->type_name("CLASS|FILE");
  add_change_options(command, arguments);
}

void add_change_options(CLI::App& command, MachineArguments& arguments) {
  command
      .add_option_function<std::vector<std::string>>(
          "--set",
          [&arguments](const std::vector<std::string>& assignments) {
            for (const auto& assignment : assignments)
              if (is_library_option(assignment))
                set_option(assignment);
              else
                arguments.figures.push_back(assignment);
          },
          "Set a figure of the link model (overhead.op=2), a link's\n"
          "GB/s (GPU3-switch0=12), or an option of the library")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--what-if", arguments.what_if, what_if_help())
      ->type_name("WORD")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

ChosenMachine chosen_machine(const MachineArguments& arguments) {
  Topology topology = topology_of(arguments);
  std::string name = name_of(arguments, topology);
  ChosenModel chosen = model_of(arguments, topology);
  MachineDescription description{std::move(topology), std::move(chosen.model), {}};
  std::vector<std::string> changes;
  check_what_ifs(arguments.what_if);
  for (const auto& word : arguments.what_if) {
    MachineDescription changed = with_what_if(description, word);
    const bool alike = changed.topology.gpus().size() == description.topology.gpus().size() &&
                       act_alike(made(description), made(changed));
    changes.push_back(fmt::format("what if {}{}", word, alike ? " (changes nothing here)" : ""));
    if (changed.model.name != description.model.name)
      chosen.why = link_model_for(changed.topology).why;
    description = std::move(changed);
  }
  for (const auto& figure : arguments.figures) {
    description = with_figure(std::move(description), figure);
    changes.push_back("set " + figure);
  }
  if (description.topology.gpus().empty())
    throw Error(ErrorCode::bad_input, fmt::format("{} has no GPUs", name));
  auto assumptions = assumptions_of(description.topology, description.model);
  return {.name = std::move(name),
          .machine = made(std::move(description)),
          .model_why = std::move(chosen.why),
          .changes = std::move(changes),
          .assumptions = std::move(assumptions)};
}

std::string machine_heading(const ChosenMachine& chosen) {
  std::string text = fmt::format("# machine: {}: {}\n# link model: {} ({})\n", chosen.name,
                                 summary(chosen.machine.topology()), chosen.machine.model().name,
                                 chosen.model_why);
  if (!chosen.changes.empty())
    text += fmt::format("# changed: {}\n", fmt::join(chosen.changes, "; "));
  if (const auto assumed = assumptions_text(chosen.assumptions); !assumed.empty())
    text += fmt::format("# {}\n", assumed);
  return text;
}

std::vector<std::string> assumed_words(const ChosenMachine& chosen) {
  std::vector<std::string> words;
  for (const auto& each : chosen.assumptions) words.push_back(each.what);
  return words;
}

}  // namespace ringside::cli
