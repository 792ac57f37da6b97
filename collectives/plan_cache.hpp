// SPDX-License-Identifier: MIT
/// Plans ready to run, made once and shared by all ranks of a world.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "ringside/base/error.hpp"
#include "ringside/collectives/dependencies.hpp"
#include "ringside/collectives/lower.hpp"
#include "ringside/collectives/plan.hpp"
#include "ringside/collectives/prover.hpp"

namespace ringside {

/// A proven plan with its waits. Immutable, whatever the message size.
struct CompiledPlan {
  Plan plan;
  Schedule schedule;
  ProofFacts facts;
  std::uint64_t hash = 0;
};

/// Finds or makes the compiled plan of a spec. Thread-safe: the first rank to ask makes it, the
/// others wait for that, and nobody waits who asks for another. A wrong plan is proven wrong once.
/// Plans are kept as long as the cache: peers may name a plan in a message
/// after the rank that ran it has gone.
class PlanCache {
 public:
  /// Of ranks that reach each other's memory.
  PlanCache() = default;
  /// Plans are lowered to what so many ranks can do; all requests are for as many.
  explicit PlanCache(AccessMatrix access) : access_(std::move(access)) {}

  /// Throws Error(bad_input) or Error(unsupported) for the spec, Error(unsupported) for a plan file
  /// with more lanes or slices than an algorithm may have, and Error(bad_input) with the prover's
  /// words for an algorithm that is wrong: nothing unproven runs.
  std::shared_ptr<const CompiledPlan> get(std::string_view spec, const Request& request);

 private:
  using Key = std::pair<std::string, std::tuple<Collective, int, int, bool>>;
  /// A plan that is being made, or has been, or has been refused.
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const CompiledPlan> compiled;
    std::optional<Error> refused;  ///< by the proof
  };

  AccessMatrix access_;  // empty: nothing to lower to
  std::mutex mutex_;
  std::map<Key, Slot> slots_;
};

}  // namespace ringside
