// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/simulated/access.hpp"

#include <cstddef>

namespace ringside {

AccessMatrix access_of(const Machine& machine, std::span<const int> gpus) {
  AccessMatrix access = full_access(static_cast<int>(gpus.size()));
  for (std::size_t a = 0; a < gpus.size(); ++a)
    for (std::size_t b = 0; b < gpus.size(); ++b)
      if (gpus[a] != gpus[b] && !machine.peer_access(gpus[a], gpus[b])) access[a][b] = Access::none;
  return access;
}

}  // namespace ringside
