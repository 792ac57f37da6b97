// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/chosen_plans.hpp"

#include "ringside/collectives/dependencies.hpp"

namespace ringside {

std::optional<Choice> named_choice(const CallOptions& options, const std::string& option) {
  const std::string& spec = options.algorithm.empty() ? option : options.algorithm;
  if (spec == "auto") return std::nullopt;
  return Choice{spec, "named by the caller or the option algorithm"};
}

ChosenPlans choose_plans(const Call& call, int ranks, const SpecFor& spec_for, PlanCache& plans,
                         const PlanWait& wait) {
  ChosenPlans chosen;
  const std::size_t bytes = total_elements(call, ranks) * size_of(call.type);
  const bool both = placement_may_differ(call, ranks);
  for (const bool in_place : {false, true}) {
    if (!both && in_place == (call.placement == Placement::out_of_place)) continue;
    const Request request = call.request(ranks, in_place);
    const auto compiled = plans.get(spec_for(request, bytes), request, wait);
    if (call.op == ReduceOp::premul_sum) require_scalable(compiled->plan, compiled->schedule);
    chosen.hash = chosen.hash * 31 + compiled->hash;
    chosen.spec = compiled->plan.spec().c_str();  // the cache keeps the plan
    chosen.by_placement[in_place ? 1 : 0] = compiled;
  }
  return chosen;
}

}  // namespace ringside
