// SPDX-License-Identifier: MIT
/// How a batch is cut over ranks that are not equally fast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ringside/collectives/layout.hpp"

namespace ringside::trainer {

/// The largest share that one may give, so that products stay whole numbers of 64 bits.
inline constexpr std::int64_t largest_share = 1'000'000;

/// Of so many samples, those of `rank`. `shares` has a whole number above 0 for every rank, or is
/// empty: all are equal. The parts come one after another and together are all samples; each is at
/// most one sample from its share.
[[nodiscard]] Extent share_of(std::size_t samples, std::span<const std::int64_t> shares,
                              std::size_t ranks, std::size_t rank);

/// Shares by which all ranks compute equally long, from what each of them takes for a sample: the
/// fastest has 1000. Whole numbers only, so that all ranks work out the same.
[[nodiscard]] std::vector<std::int64_t> shares_by_speed(
    std::span<const std::int64_t> nanoseconds_of_a_sample);

/// Throws Error(invalid_argument) for shares, or factors by which ranks compute longer, that are
/// not one for each of so many ranks, or none at all; or out of range.
void check_speeds(std::span<const std::int64_t> shares, std::span<const double> slow_ranks,
                  int ranks);

/// "3:1".
[[nodiscard]] std::string to_words(std::span<const std::int64_t> shares);

}  // namespace ringside::trainer
