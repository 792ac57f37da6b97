// SPDX-License-Identifier: MIT
/// What is refused, and what is worked out, before training begins. (`check` and
/// `changes_since_checkpoint` are training.hpp's.)
#pragma once

#include <cstdint>

#include "ringside/trainer/training.hpp"

namespace ringside::trainer {

/// Steps of this call: what is left of the epochs from the resumed checkpoint on, at most
/// `settings.steps`.
[[nodiscard]] std::int64_t steps_to_make(const TrainingSettings& settings, const Dataset& data);

}  // namespace ringside::trainer
