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
[[nodiscard]] AlgorithmInfo linear();
[[nodiscard]] AlgorithmInfo direct();
[[nodiscard]] AlgorithmInfo recursive_halving();
[[nodiscard]] AlgorithmInfo bruck();
[[nodiscard]] AlgorithmInfo scatter_all_gather();
[[nodiscard]] AlgorithmInfo pairwise();

/// All of them: those of all_reduce, simplest first, then those of other collectives only.
[[nodiscard]] std::vector<AlgorithmInfo> builtin_algorithms();

}  // namespace ringside
