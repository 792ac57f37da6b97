// SPDX-License-Identifier: MIT
/// Statistics of samples. Every function takes at least one sample, in any order.
#pragma once

#include <span>

namespace ringside {

[[nodiscard]] double mean(std::span<const double> samples);
[[nodiscard]] double minimum(std::span<const double> samples);
[[nodiscard]] double maximum(std::span<const double> samples);

/// The middle one of the sorted samples; the mean of the two middle ones of an even number.
[[nodiscard]] double median(std::span<const double> samples);

/// The nearest-rank percentile, as nccl-tests takes it: sorted[ceil(n percent / 100) - 1], for
/// 0 < percent <= 100.
[[nodiscard]] double percentile(std::span<const double> samples, double percent);

}  // namespace ringside
