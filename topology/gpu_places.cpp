// SPDX-License-Identifier: MIT
#include "ringside/topology/gpu_places.hpp"

namespace ringside {

std::vector<int> gpu_places(const Topology& topology, std::span<const int> numbers) {
  const auto gpus = topology.gpus();
  std::vector<int> places;
  for (const int number : numbers)
    for (std::size_t place = 0; place < gpus.size(); ++place)
      if (gpu_number(topology, gpus[place], place) == number) {
        places.push_back(static_cast<int>(place));
        break;
      }
  return places;
}

}  // namespace ringside
