// SPDX-License-Identifier: MIT
/// The algorithms that come with the library, one per file.
#pragma once

#include <vector>

#include "ringside/collectives/algorithm.hpp"

namespace ringside {

[[nodiscard]] AlgorithmInfo naive();
[[nodiscard]] AlgorithmInfo chain();
[[nodiscard]] AlgorithmInfo binomial();
[[nodiscard]] AlgorithmInfo double_tree();
[[nodiscard]] AlgorithmInfo recursive_doubling();
[[nodiscard]] AlgorithmInfo halving_doubling();
[[nodiscard]] AlgorithmInfo ring();
[[nodiscard]] AlgorithmInfo bidirectional_ring();
[[nodiscard]] AlgorithmInfo one_shot();
[[nodiscard]] AlgorithmInfo two_shot();
[[nodiscard]] AlgorithmInfo neighbour_push();
[[nodiscard]] AlgorithmInfo hierarchical();

/// All of them, simplest first.
[[nodiscard]] std::vector<AlgorithmInfo> builtin_algorithms();

}  // namespace ringside
