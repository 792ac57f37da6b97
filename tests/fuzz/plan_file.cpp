// SPDX-License-Identifier: MIT
/// Any text as a plan file: refused, or everything that consumes plans takes it; the text that we
/// write of it reads back as the same plan; and what is right stays right when it is lowered.
#include "ringside/collectives/plan_io.hpp"
#include "ringside/tests/fuzz/consume_plan.hpp"
#include "ringside/tests/fuzz/require.hpp"

namespace ringside::fuzz {
namespace {

void run(std::string_view text) try {
  consume_plan(plan_from_json(text));
} catch (const Error& error) {
  require_refusal(error);
}

}  // namespace
}  // namespace ringside::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ringside::fuzz::run(ringside::fuzz::as_text(data, size));
  return 0;
}
