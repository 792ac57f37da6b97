// SPDX-License-Identifier: MIT
/// What of the command line of `ringside train` is refused before anything is computed or printed.
#pragma once

#include <vector>

#include "ringside/tools/cli/option_values.hpp"
#include "ringside/trainer/training.hpp"

namespace ringside::cli {

/// Throws Error(bad_input) for options that a run of these strategies would not look at.
void check_meaning(bool compare, const Given& given, const trainer::TrainingSettings& settings,
                   const std::vector<trainer::StrategyKind>& kinds);

/// Throws what check_spec does for an algorithm that could not sum the gradients of so many ranks.
void check_algorithm(const trainer::StrategySettings& strategy, int ranks,
                     const trainer::BackendSettings& backend);

}  // namespace ringside::cli
