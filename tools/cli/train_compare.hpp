// SPDX-License-Identifier: MIT
/// `ringside train --compare`: one rank and several take turns.
#pragma once

#include "ringside/tools/cli/train_arguments.hpp"
#include "ringside/tools/cli/train_checks.hpp"

namespace ringside::cli {

/// Measures and prints. Throws Error: bad_input for words that are not understood, and what
/// training throws.
void train_compare(const TrainArguments& arguments, const Given& given);

}  // namespace ringside::cli
