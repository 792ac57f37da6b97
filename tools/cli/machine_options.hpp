// SPDX-License-Identifier: MIT
/// The machine that a command of the twin is about: which one, and what of it is to be different.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "ringside/topology/model/assumptions.hpp"
#include "ringside/topology/model/machine.hpp"

namespace ringside::cli {

/// The words of the command line, before they are understood.
struct MachineArguments {
  std::vector<std::string> topology;  ///< presets, files, - for standard input
  /// What the options of the topology and the model are called, for complaints.
  std::string topology_option = "--topo", model_option = "--model";
  bool live = false;
  std::string model;  ///< a class of machines by name, or a file; empty: by its signs
  std::vector<std::string> figures;  ///< NAME=VALUE, of the link model
  std::vector<std::string> what_if;  ///< words, see topology/model/what_if.hpp
};

/// Adds --topo, --live, --model, --set and --what-if. `arguments` must outlive the parsing. This
/// --set also takes the library's options, which every command's --set takes: figures of a link
/// model are told from them by the dot in their names.
void add_machine_options(CLI::App& command, MachineArguments& arguments);

/// --set and --what-if alone, for a command that calls the others otherwise.
void add_change_options(CLI::App& command, MachineArguments& arguments);

/// What the options name.
struct ChosenMachine {
  std::string name;  ///< of the preset, or what the topology calls itself
  Machine machine;
  std::string model_why;                ///< the signs by which the link model was chosen
  std::vector<std::string> changes;     ///< what differs from the machine as it is, one line each
  std::vector<Assumption> assumptions;  ///< what its figures rest on
};

/// Reads and makes it. Throws Error(bad_input) for what is not understood or names no machine,
/// Error(io) for what cannot be read.
[[nodiscard]] ChosenMachine chosen_machine(const MachineArguments& arguments);

/// The lines that head a text: machine, link model, changes, assumptions.
[[nodiscard]] std::string machine_heading(const ChosenMachine& chosen);
/// The assumptions for programs, a string each.
[[nodiscard]] std::vector<std::string> assumed_words(const ChosenMachine& chosen);

}  // namespace ringside::cli
