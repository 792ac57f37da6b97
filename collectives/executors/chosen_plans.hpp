// SPDX-License-Identifier: MIT
/// Which plans a call may run, and what the ranks must agree on about them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ringside/collectives/call.hpp"
#include "ringside/collectives/plan_cache.hpp"

namespace ringside {

/// The spec that a call names, or, where it names none, the option `algorithm` as it was when the
/// communicator was made; nothing where that is `auto`, which is the backend's to resolve.
[[nodiscard]] std::optional<Choice> named_choice(const CallOptions& options,
                                                 const std::string& option);

/// The spec string, `auto` resolved, of a request on so many bytes.
using SpecFor = std::function<std::string(const Request&, std::size_t bytes)>;

struct ChosenPlans {
  /// By placement (out of place, in place): both where the ranks may differ in it.
  std::array<std::shared_ptr<const CompiledPlan>, 2> by_placement;
  std::uint64_t hash = 0;  ///< of them
  const char* spec = "";   ///< of the last; lives as long as the cache
};

/// Finds them. Throws what PlanCache::get throws; Error(unsupported) if premul_sum cannot run one.
/// Not for barrier, which has none.
[[nodiscard]] ChosenPlans choose_plans(const Call& call, int ranks, const SpecFor& spec_for,
                                       PlanCache& plans, const PlanWait& wait = {});

}  // namespace ringside
