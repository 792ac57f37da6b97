// SPDX-License-Identifier: MIT
/// Batch norms that see the samples of all ranks: the arithmetic, without a library that computes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ringside::trainer {

/// Of some values, channel by channel.
struct Moments {
  double count = 0;  ///< values of a channel
  std::vector<double> mean;
  std::vector<double> squares;  ///< sum of the squared distances to the mean

  /// Mean squared distance, what batch norms divide by; and the estimate of the variance of what
  /// the values are a sample of, what they keep. Throws nothing: of no values, NaN.
  [[nodiscard]] double variance(std::size_t channel) const { return squares[channel] / count; }
  [[nodiscard]] double unbiased_variance(std::size_t channel) const {
    return squares[channel] / (count - 1);
  }
};

/// As a rank tells them: count, means, squares.
[[nodiscard]] std::vector<double> told(const Moments& own);

/// Of the values of all ranks, from what each tells, in rank order; ranks may have different
/// numbers of values, or none. Means and distances are combined pairwise (Chan, Golub and LeVeque:
/// Updating formulae and a pairwise algorithm for computing sample variances, 1979), which keeps
/// what a difference of E[x^2] and E[x]^2 would lose.
[[nodiscard]] Moments combined(std::span<const double> of_ranks, std::size_t channels);

/// Element by element, over ranks that tell `length` numbers each.
[[nodiscard]] std::vector<double> summed(std::span<const double> of_ranks, std::size_t length);

}  // namespace ringside::trainer
