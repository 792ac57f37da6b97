// SPDX-License-Identifier: MIT
#include "ringside/trainer/data/sampler.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ringside/trainer/random.hpp"

namespace ringside::trainer {
namespace {

/// Far from those of the weights, so that the two have nothing to do with each other.
constexpr std::uint64_t streams_of_orders = std::uint64_t{1} << 32U;

}  // namespace

EpochOrder::EpochOrder(std::size_t samples, std::size_t batch, std::uint64_t seed,
                       std::uint64_t epoch)
    : order_(samples), batch_(batch) {
  std::iota(order_.begin(), order_.end(), 0U);
  Random random(seed, streams_of_orders + epoch);
  for (std::size_t left = samples; left > 1; --left)  // Fisher and Yates
    std::swap(order_[left - 1], order_[random.below(left)]);
}

std::size_t EpochOrder::steps() const { return steps_of_epoch(order_.size(), batch_); }

std::span<const std::uint32_t> EpochOrder::step(std::size_t number) const {
  const std::size_t first = number * batch_;
  return std::span(order_).subspan(first, std::min(batch_, order_.size() - first));
}

}  // namespace ringside::trainer
