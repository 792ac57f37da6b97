// SPDX-License-Identifier: MIT
/// What of the command line of `ringside train` is refused before anything is computed or printed.
#pragma once

#include <functional>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "ringside/trainer/training.hpp"

namespace ringside::cli {

/// Whether the command line has the option of this long name.
using Given = std::function<bool(std::string_view name)>;

/// Throws Error(bad_input) if one of the options is given, which "has no meaning `where`".
void refuse(const Given& given, std::initializer_list<std::string_view> names,
            std::string_view where);

/// Throws Error(bad_input) for options that a run of these strategies would not look at.
void check_meaning(bool compare, const Given& given, const trainer::TrainingSettings& settings,
                   const std::vector<trainer::StrategyKind>& kinds);

/// Throws what check_spec does for an algorithm that could not sum the gradients of so many ranks.
void check_algorithm(const trainer::StrategySettings& strategy, int ranks,
                     const trainer::BackendSettings& backend);

}  // namespace ringside::cli
