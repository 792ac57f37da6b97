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
  /// The same; the waits are those of the ranks for which `near` is true (see make_schedule).
  PlanCache(AccessMatrix access, std::vector<bool> near)
      : access_(std::move(access)), near_(std::move(near)) {}

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

  /// `refused` gets what is wrong with the plan itself, which will be wrong the next time, too.
  [[nodiscard]] std::shared_ptr<const CompiledPlan> compile(Plan plan,
                                                            std::optional<Error>& refused) const;

  AccessMatrix access_;     // empty: nothing to lower to
  std::vector<bool> near_;  // empty: all ranks
  std::mutex mutex_;
  std::map<Key, Slot> slots_;
};

}  // namespace ringside
