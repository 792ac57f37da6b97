// SPDX-License-Identifier: MIT
/// Everything that consumes plans, and what must hold whatever plan it is.
#pragma once

#include "ringside/collectives/plan.hpp"

namespace ringside::fuzz {

/// Plans that take too long to be one of many are passed over. Throws what the library refuses.
void consume_plan(const Plan& plan);

}  // namespace ringside::fuzz
