// SPDX-License-Identifier: MIT
#include "ringside/trainer/shares.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "ringside/base/error.hpp"

namespace ringside::trainer {

Extent share_of(std::size_t samples, std::span<const std::int64_t> shares, std::size_t ranks,
                std::size_t rank) {
  if (shares.empty()) return part_of(samples, ranks, rank);
  const auto before = [&](std::size_t count) {
    return static_cast<std::size_t>(std::accumulate(
        shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(count), std::int64_t{0}));
  };
  const std::size_t all = before(shares.size());
  // Rounded up: as with equal shares, the first ranks have one more.
  const auto cut = [&](std::size_t count) { return (samples * before(count) + all - 1) / all; };
  return {cut(rank), cut(rank + 1) - cut(rank)};
}

std::vector<std::int64_t> shares_by_speed(std::span<const std::int64_t> nanoseconds_of_a_sample) {
  constexpr std::int64_t of_the_fastest = 1000;
  const std::int64_t least = std::max<std::int64_t>(
      *std::min_element(nanoseconds_of_a_sample.begin(), nanoseconds_of_a_sample.end()), 1);
  std::vector<std::int64_t> shares;
  for (const std::int64_t time : nanoseconds_of_a_sample) {
    const std::int64_t own = std::max<std::int64_t>(time, 1);
    shares.push_back(std::max<std::int64_t>((of_the_fastest * least + own / 2) / own, 1));
  }
  return shares;
}

void check_speeds(std::span<const std::int64_t> shares, std::span<const double> slow_ranks,
                  int ranks) {
  const auto demand = [](bool holds, const std::string& otherwise) {
    if (!holds) throw Error(ErrorCode::invalid_argument, otherwise);
  };
  const auto one_a_rank = [&](std::string_view what, std::size_t given) {
    demand(given == 0 || given == static_cast<std::size_t>(ranks),
           fmt::format("{} are given for {} rank{}, not {}", what, given, given == 1 ? "" : "s",
                       ranks));
  };
  one_a_rank("shares", shares.size());
  one_a_rank("factors of slowness", slow_ranks.size());
  for (const std::int64_t share : shares)
    demand(share >= 1 && share <= largest_share,
           fmt::format("a share is a whole number from 1 to {}", largest_share));
  constexpr double slowest = 1000;
  for (const double factor : slow_ranks)
    demand(factor >= 1 && factor <= slowest,
           fmt::format("a rank computes 1 to {} times as long", slowest));
}

std::string to_words(std::span<const std::int64_t> shares) {
  return fmt::format("{}", fmt::join(shares.begin(), shares.end(), ":"));
}

}  // namespace ringside::trainer
