// SPDX-License-Identifier: MIT
/// `ringside train --on TOPOLOGY`: predicts training on a machine that need not be at hand.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "ringside/tools/cli/machine_options.hpp"
#include "ringside/tools/cli/train_checks.hpp"
#include "ringside/trainer/training.hpp"

namespace ringside::cli {

/// The words of the options that go with --on, before they are understood.
struct TrainOnArguments {
  MachineArguments machine;  ///< its topology by --on
  std::string parameters, layers, step_seconds, device_speed, backward_share, fixed_seconds;
  bool strong = false;
};

/// Adds --on and what goes with it. `arguments` must outlive the parsing.
void add_train_on_options(CLI::App& command, TrainOnArguments& arguments);

/// Whether --on was given. Throws Error(bad_input) for an option that has no meaning with it, or
/// without it.
[[nodiscard]] bool is_prediction(const TrainOnArguments& arguments, const Given& given);

/// What the options that it shares with training say.
struct TrainOnCommon {
  trainer::TrainingSettings settings;
  std::vector<trainer::StrategyKind> kinds;  ///< empty: all
  std::vector<int> ranks;                    ///< empty: all GPUs
  std::string algorithms;                    ///< empty: some to compare
  std::string format;
};

/// Predicts and prints. Throws Error: bad_input for words that are not understood, and what reading
/// the machine and simulating throw.
void train_on(const TrainOnArguments& arguments, const TrainOnCommon& common, const Given& given);

}  // namespace ringside::cli
