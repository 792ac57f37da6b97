// SPDX-License-Identifier: MIT
#include "ringside/tests/fuzz/consume_plan.hpp"

#include <vector>

#include "ringside/collectives/cost.hpp"
#include "ringside/collectives/dependencies.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/collectives/lower.hpp"
#include "ringside/collectives/plan_io.hpp"
#include "ringside/collectives/prover.hpp"
#include "ringside/tests/fuzz/require.hpp"

namespace ringside::fuzz {
namespace {

/// Beyond these a run takes too long to be one of many.
constexpr int most_ranks = 8;
constexpr int most_chunks = 64;
constexpr std::size_t most_ops = 60;
constexpr int most_count = 64;

bool small(const Plan& plan) {
  if (plan.ranks() > most_ranks || plan.chunks() > most_chunks || plan.size() > most_ops ||
      plan.shape().slices > 8 || plan.shape().lanes > 4)
    return false;
  for (std::size_t op = 0; op < plan.size(); ++op)
    if (plan.op(op).count > most_count) return false;
  return true;
}

}  // namespace

void consume_plan(const Plan& plan) {
  if (!small(plan)) return;
  check_structure(plan);
  const Plan again = plan_from_json(plan_to_json(plan));
  require(again.hash() == plan.hash() && again.spec() == plan.spec(),
          "a plan is what its file says");
  check_waits(plan, make_schedule(plan));
  const std::vector<std::size_t> blocks(static_cast<std::size_t>(block_count(plan.request())), 7);
  require(cost_of(plan, blocks, 4).ops == plan.size(), "the cost counts all ops");
  require(!show_plan(plan).empty() && !plan_to_dot(plan).empty(), "a plan has pictures");

  const bool right = prove(plan).holds();
  for (const Access access : {Access::copy_only, Access::none}) {
    const auto ranks = static_cast<std::size_t>(plan.ranks());
    const AccessMatrix matrix(ranks, std::vector<Access>(ranks, access));
    const Plan lowered = lower(plan, matrix);
    check_structure(lowered);
    require(allowed(lowered, matrix), "a lowered plan does only what is allowed");
    require(prove(lowered).holds() == right, "lowering keeps the meaning");
  }
}

}  // namespace ringside::fuzz
