// SPDX-License-Identifier: MIT
/// Any text as a plan file: refused, or everything that consumes plans takes it; the text that we
/// write of it reads back as the same plan; and what is right stays right when it is lowered.
#include "ringside/collectives/plan_io.hpp"
#include "ringside/tests/fuzz/consume_plan.hpp"
#include "ringside/tests/fuzz/require.hpp"

namespace ringside::fuzz {

void run(std::string_view input) { consume_plan(plan_from_json(input)); }

}  // namespace ringside::fuzz
