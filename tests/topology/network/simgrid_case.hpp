// SPDX-License-Identifier: MIT
/// Random cases in SimGrid.
#pragma once

#include <vector>

#include "random_case.hpp"

namespace ringside::tests {

/// When each flow of each case ends. Runs them, many at a time, in processes of their own: a
/// process can have only one simulation, whose cost grows faster than the number of cases in it.
[[nodiscard]] std::vector<std::vector<double>> times_of_simgrid(const std::vector<Case>& cases);

}  // namespace ringside::tests
