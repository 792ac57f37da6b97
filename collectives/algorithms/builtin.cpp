// SPDX-License-Identifier: MIT
#include "ringside/collectives/algorithms/builtin.hpp"

namespace ringside {

std::vector<AlgorithmInfo> builtin_algorithms() {
  return {naive(),
          chain(),
          binomial(),
          double_tree(),
          recursive_doubling(),
          halving_doubling(),
          ring(),
          bidirectional_ring(),
          one_shot(),
          two_shot(),
          neighbour_push(),
          hierarchical(),
          linear(),
          direct(),
          recursive_halving(),
          bruck(),
          scatter_all_gather(),
          pairwise()};
}

}  // namespace ringside
