// SPDX-License-Identifier: MIT
/// A plan stored while it is written, as far as its consumer wants it.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/plan.hpp"

namespace ringside {

/// The whole plan of a spec. `accepts(plan, op)` is asked before each op, with the plan so far:
/// where it is false there is nothing, and it may throw instead. Throws as PlanStream does.
template <class Accepts>
[[nodiscard]] std::optional<Plan> stored_plan(const Spec& spec, const Request& request,
                                              Accepts&& accepts) {
  PlanStream stream(spec, request);
  std::optional<Plan> plan(std::in_place, request, stream.shape(), stream.spec());
  while (const Op* op = stream.next()) {
    if (!accepts(std::as_const(*plan), *op)) return std::nullopt;
    plan->append(*op);
  }
  for (int rank = 0; rank < request.ranks; ++rank)
    for (const auto& slot : stream.slots()[static_cast<std::size_t>(rank)])
      plan->add_slot(rank, slot);
  return plan;
}

}  // namespace ringside
