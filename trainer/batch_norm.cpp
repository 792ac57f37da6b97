// SPDX-License-Identifier: MIT
#include "ringside/trainer/batch_norm.hpp"

namespace ringside::trainer {

std::vector<double> told(const Moments& own) {
  std::vector<double> numbers{own.count};
  numbers.insert(numbers.end(), own.mean.begin(), own.mean.end());
  numbers.insert(numbers.end(), own.squares.begin(), own.squares.end());
  return numbers;
}

Moments combined(std::span<const double> of_ranks, std::size_t channels) {
  Moments all{0, std::vector<double>(channels), std::vector<double>(channels)};
  const std::size_t length = 1 + 2 * channels;
  for (std::size_t at = 0; at < of_ranks.size(); at += length) {
    const double count = of_ranks[at];
    if (count == 0) continue;
    const auto mean = of_ranks.subspan(at + 1, channels);
    const auto squares = of_ranks.subspan(at + 1 + channels, channels);
    const double together = all.count + count;
    for (std::size_t channel = 0; channel < channels; ++channel) {
      const double distance = mean[channel] - all.mean[channel];
      all.mean[channel] += distance * (count / together);
      all.squares[channel] +=
          squares[channel] + distance * distance * (all.count * count / together);
    }
    all.count = together;
  }
  return all;
}

std::vector<double> summed(std::span<const double> of_ranks, std::size_t length) {
  std::vector<double> sums(length);
  for (std::size_t at = 0; at < of_ranks.size(); ++at) sums[at % length] += of_ranks[at];
  return sums;
}

}  // namespace ringside::trainer
