// SPDX-License-Identifier: MIT
#include "ringside/trainer/sgd.hpp"

#include <cstddef>
#include <span>

namespace ringside::trainer {
namespace {

template <class T>
void update_of(const Memory& parameters, const Memory& gradients, const Memory& velocity,
               const SgdStep& step) {
  const std::span<T> p = parameters.as<T>();
  const std::span<const T> g = gradients.as<T>();
  const auto rate = static_cast<T>(step.rate);
  const auto samples = static_cast<T>(step.samples);
  const auto momentum = static_cast<T>(step.momentum);
  const auto decay = static_cast<T>(step.decay);
  if (velocity.elements == 0) {
    for (std::size_t i = 0; i < p.size(); ++i) p[i] -= rate * (g[i] / samples + decay * p[i]);
    return;
  }
  const std::span<T> v = velocity.as<T>();
  for (std::size_t i = 0; i < p.size(); ++i) {
    v[i] = momentum * v[i] + (g[i] / samples + decay * p[i]);
    p[i] -= rate * v[i];
  }
}

}  // namespace

void update(Memory parameters, Memory gradients, Memory velocity, const SgdStep& step) {
  if (parameters.type == ElementType::float64)
    update_of<double>(parameters, gradients, velocity, step);
  else
    update_of<float>(parameters, gradients, velocity, step);
}

double RateSchedule::at(std::int64_t step) const {
  if (step >= warmup_steps) return to;
  const double progress = static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  return from + (to - from) * progress;
}

}  // namespace ringside::trainer
