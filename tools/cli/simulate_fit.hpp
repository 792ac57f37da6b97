// SPDX-License-Identifier: MIT
/// `ringside simulate --fit`: a link model from what was measured on a machine.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "ringside/tools/cli/machine_options.hpp"

namespace ringside::cli {

struct FitArguments {
  std::vector<std::string> files;  ///< what was measured; empty: nothing is fitted
  std::string model_file;          ///< where the link model goes; empty: nowhere
};

/// Adds --fit and --save-model. `arguments` must outlive the parsing.
void add_fit_options(CLI::App& command, FitArguments& arguments);

/// Fits, prints figures and residuals, writes the model. Throws Error(bad_input) for what cannot be
/// fitted to.
void run_fit(const MachineArguments& machine, const FitArguments& arguments);

}  // namespace ringside::cli
