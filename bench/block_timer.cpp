// SPDX-License-Identifier: MIT
#include "ringside/bench/block_timer.hpp"

#include <algorithm>
#include <cstring>

namespace ringside::bench {

BlockTimes block_times(const std::vector<std::vector<double>>& ends, const Block& block) {
  BlockTimes times;
  for (const auto& of_rank : ends) times.rank_seconds.push_back(of_rank.back());
  times.sample_seconds.resize(ends.front().size());
  for (const auto& of_rank : ends) {
    double begin = 0;
    for (std::size_t i = 0; i < of_rank.size(); ++i) {
      const double one = (of_rank[i] - begin) / static_cast<double>(block.calls_per_sample);
      times.sample_seconds[i] = std::max(times.sample_seconds[i], one);
      begin = of_rank[i];
    }
  }
  return times;
}

void fill_with(std::byte* to, std::uint64_t elements, const void* element, std::size_t bytes) {
  constexpr std::size_t most = 4096;  // small enough to stay in the first-level cache
  const std::size_t total = elements * bytes;
  if (total == 0) return;
  std::memcpy(to, element, bytes);
  std::size_t done = bytes;
  while (done < total) {
    const std::size_t more = std::min({done, total - done, most});
    std::memcpy(to + done, to, more);
    done += more;
  }
}

}  // namespace ringside::bench
