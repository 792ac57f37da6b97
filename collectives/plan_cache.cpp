// SPDX-License-Identifier: MIT
#include "ringside/collectives/plan_cache.hpp"

#include <fmt/format.h>

#include "ringside/base/error.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/prover.hpp"

namespace ringside {
namespace {

/// A plan file may be of any shape, an executor is not.
void check_runnable(const Plan& plan) {
  const auto check = [&](int has, const char* what, int most) {
    if (has > most)
      throw Error(ErrorCode::unsupported, fmt::format("the plan '{}' has {} {}: at most {} are run",
                                                      plan.spec(), has, what, most));
  };
  check(plan.shape().lanes, "lanes", most_lanes);
  check(plan.shape().slices, "slices", most_slices);
}

}  // namespace

std::shared_ptr<const CompiledPlan> PlanCache::compile(Plan plan,
                                                       std::optional<Error>& refused) const {
  try {
    check_runnable(plan);
    if (!access_.empty()) plan = lower(plan, access_);
    const ProofFacts facts = require_proof(plan, false).facts;
    auto schedule = make_schedule(plan, near_);
    const auto hash = plan.hash();
    return std::make_shared<const CompiledPlan>(
        CompiledPlan{std::move(plan), std::move(schedule), facts, hash});
  } catch (const Error& error) {
    refused = error;
    throw;
  }
}

std::shared_ptr<const CompiledPlan> PlanCache::get(std::string_view spec, const Request& request) {
  Key key{std::string(spec), {request.collective, request.ranks, request.root, request.in_place}};
  Slot& slot = [&]() -> Slot& {
    const std::lock_guard lock(mutex_);
    return slots_[std::move(key)];  // stays where it is
  }();
  const std::lock_guard lock(slot.mutex);
  if (slot.refused) throw Error(*slot.refused);
  if (!slot.compiled) slot.compiled = compile(make_plan(spec, request), slot.refused);
  return slot.compiled;
}

}  // namespace ringside
