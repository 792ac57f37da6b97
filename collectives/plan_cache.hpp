// SPDX-License-Identifier: MIT
/// Plans ready to run, made once and shared by all ranks of a world.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ringside/base/clock.hpp"
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

/// How a rank waits for the plan of an algorithm that is not ours. Nobody can tell whether that
/// will ever answer, so it is asked on a thread of its own, and a rank that has waited long enough
/// leaves that behind.
struct PlanWait {
  Seconds limit{std::numeric_limits<double>::infinity()};
  /// Told at the beginning what is waited for, as messages call it, and at the end "".
  std::function<void(const std::string& algorithm)> tell = {};
  /// Called every few milliseconds; what it throws ends the wait.
  std::function<void()> look = {};
};

/// Finds or makes the compiled plan of a spec. Thread-safe: the first rank to ask makes it, the
/// others wait for that, and nobody waits who asks for another. A wrong plan is proven wrong once.
/// An algorithm that is not ours is asked once: its refusal is kept, too, so that all ranks hear
/// the same. Plans are kept as long as the cache: peers may name a plan in a message
/// after the rank that ran it has gone.
class PlanCache {
 public:
  /// Of ranks that reach each other's memory.
  PlanCache() = default;
  /// Plans are lowered to what so many ranks can do; all requests are for as many.
  explicit PlanCache(AccessMatrix access)
      : how_(std::make_shared<How>(How{std::move(access), {}})) {}
  /// The same; the waits are those of the ranks for which `near` is true (see make_schedule).
  PlanCache(AccessMatrix access, std::vector<bool> near)
      : how_(std::make_shared<How>(How{std::move(access), std::move(near)})) {}

  /// Throws Error(bad_input) or Error(unsupported) for the spec, Error(unsupported) for a plan file
  /// with more lanes or slices than an algorithm may have, Error(bad_input) with the prover's
  /// words for an algorithm that is wrong: nothing unproven runs; and Error(timeout) where an
  /// algorithm that is not ours has not answered within the limit. (If it does later, the plan will
  /// be there.)
  std::shared_ptr<const CompiledPlan> get(std::string_view spec, const Request& request,
                                          const PlanWait& wait = {});

  /// The same plan as `plain`'s, which another cache has, but lowered as those of this one are: the
  /// algorithm is not asked again.
  std::shared_ptr<const CompiledPlan> get(const CompiledPlan& plain);

 private:
  struct How {
    AccessMatrix access;     // empty: nothing to lower to
    std::vector<bool> near;  // empty: all ranks
  };
  struct Slot;
  using Key = std::pair<std::string, std::tuple<Collective, int, int, bool>>;

  std::shared_ptr<Slot> slot_for(std::string_view spec, const Request& request);
  static std::shared_ptr<const CompiledPlan> compile(Plan plan, const How& how);
  std::shared_ptr<const CompiledPlan> make_here(Slot& slot, const std::function<Plan()>& make);
  std::shared_ptr<const CompiledPlan> ask_outside(const std::shared_ptr<Slot>& slot,
                                                  const std::string& algorithm,
                                                  std::string_view spec, const Request& request,
                                                  const PlanWait& wait);

  std::shared_ptr<const How> how_ = std::make_shared<How>();
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Slot>> slots_;
};

}  // namespace ringside
