// SPDX-License-Identifier: MIT
/// Stochastic gradient descent, and its rate over time.
#pragma once

#include <cstdint>

#include "ringside/trainer/memory.hpp"

namespace ringside::trainer {

/// One update: gradient = sum / samples + decay x parameter; velocity = momentum x velocity +
/// gradient; parameter -= rate x velocity. As in d2l 12.5 the gradients are sums over the samples
/// of the whole batch, which are divided once.
struct SgdStep {
  double rate = 0.1;
  double samples = 1;
  double momentum = 0;
  double decay = 0;
};

/// Updates parameters at the host. `velocity` may be empty without momentum. All are of one type
/// and length.
void update(Memory parameters, Memory gradients, Memory velocity, const SgdStep& step);

/// The rate grows linearly from `from` to `to` within the first `warmup_steps` and stays there
/// (Goyal and others: Accurate, large minibatch SGD, 2017).
struct RateSchedule {
  double from = 0;
  double to = 0.1;
  std::int64_t warmup_steps = 0;

  /// Of step 0, 1, ...
  [[nodiscard]] double at(std::int64_t step) const;
};

}  // namespace ringside::trainer
