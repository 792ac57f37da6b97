// SPDX-License-Identifier: MIT
#include "ringside/collectives/plan_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <new>
#include <optional>
#include <system_error>
#include <thread>

#include "ringside/base/error.hpp"
#include "ringside/base/keep.hpp"
#include "ringside/base/text.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/collectives/algorithm.hpp"
#include "ringside/collectives/outside.hpp"
#include "ringside/collectives/prover.hpp"

namespace ringside {
namespace {

/// Between two looks of a rank that waits for an algorithm that is not ours.
constexpr std::chrono::milliseconds between_looks{5};

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

/// What an algorithm that is not ours ended with, whatever that was.
Error error_in(const std::exception_ptr& thrown, const std::string& algorithm) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return {ErrorCode::io, fmt::format("no memory for a plan of {}", algorithm)};
  } catch (const std::exception& error) {
    return {ErrorCode::bad_input, fmt::format("{}: {}", algorithm, error.what())};
  } catch (...) {
    return {ErrorCode::bad_input,
            fmt::format("{} threw something that is no std::exception", algorithm)};
  }
}

/// Algorithms that a rank has given up on, as messages call them, until they come back. They are
/// not asked anything else meanwhile: threads that never end shall not add up.
class GivenUp {
 public:
  static GivenUp& all() {
    static GivenUp& instance = never_destroyed<GivenUp>();
    return instance;
  }
  void add(const std::string& algorithm) {
    const std::lock_guard lock(mutex_);
    ++times_[algorithm];
  }
  void remove(const std::string& algorithm) {
    const std::lock_guard lock(mutex_);
    if (--times_[algorithm] == 0) times_.erase(algorithm);
  }
  [[nodiscard]] bool contains(const std::string& algorithm) const {
    const std::lock_guard lock(mutex_);
    return times_.contains(algorithm);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int> times_;
};

}  // namespace

/// A plan that is being made, or has been, or has been refused. It outlives the cache where an
/// algorithm does not come back.
struct PlanCache::Slot {
  std::mutex mutex;
  std::condition_variable answered;
  bool asked = false;     ///< an algorithm that is not ours
  bool given_up = false;  ///< on it, by some rank
  std::shared_ptr<const CompiledPlan> compiled;
  std::optional<Error> refused;

  /// What there is; null if nothing is yet. To be called with the mutex held.
  [[nodiscard]] std::shared_ptr<const CompiledPlan> answer() const {
    if (refused) throw Error(*refused);
    return compiled;
  }
};

std::shared_ptr<const CompiledPlan> PlanCache::compile(Plan plan, const How& how) {
  check_runnable(plan);
  if (!how.access.empty()) plan = lower(plan, how.access);
  const ProofFacts facts = require_proof(plan, false).facts;
  auto schedule = make_schedule(plan, how.near);
  const auto hash = plan.hash();
  return std::make_shared<const CompiledPlan>(
      CompiledPlan{std::move(plan), std::move(schedule), facts, hash});
}

std::shared_ptr<PlanCache::Slot> PlanCache::slot_for(std::string_view spec,
                                                     const Request& request) {
  Key key{std::string(spec), {request.collective, request.ranks, request.root, request.in_place}};
  const std::lock_guard lock(mutex_);
  auto& slot = slots_[std::move(key)];
  if (!slot) slot = std::make_shared<Slot>();
  return slot;
}

std::shared_ptr<const CompiledPlan> PlanCache::make_here(Slot& slot,
                                                         const std::function<Plan()>& make) {
  const std::lock_guard lock(slot.mutex);
  if (auto answer = slot.answer()) return answer;
  Plan plan = make();
  try {
    slot.compiled = compile(std::move(plan), *how_);
  } catch (const Error& error) {
    slot.refused = error;  // it will be as wrong the next time
    throw;
  }
  return slot.compiled;
}

std::shared_ptr<const CompiledPlan> PlanCache::get(std::string_view spec, const Request& request,
                                                   const PlanWait& wait) {
  const auto slot = slot_for(spec, request);
  if (const auto algorithm = outside_algorithm_in(spec))
    return ask_outside(slot, *algorithm, spec, request, wait);
  return make_here(*slot, [&] { return make_plan(spec, request); });
}

std::shared_ptr<const CompiledPlan> PlanCache::get(const CompiledPlan& plain) {
  return make_here(*slot_for(plain.plan.spec(), plain.plan.request()), [&] { return plain.plan; });
}

std::shared_ptr<const CompiledPlan> PlanCache::ask_outside(const std::shared_ptr<Slot>& slot,
                                                           const std::string& algorithm,
                                                           std::string_view spec,
                                                           const Request& request,
                                                           const PlanWait& wait) {
  std::unique_lock lock(slot->mutex);
  if (auto answer = slot->answer()) return answer;
  const auto refuse_late = [&](const std::string& why) {
    throw Error(ErrorCode::timeout,
                fmt::format("planning {} with {} {}", describe(request), algorithm, why));
  };
  if (!slot->asked) {
    if (GivenUp::all().contains(algorithm))
      refuse_late("cannot begin: it has not come back from an earlier request");
    // Nothing of this cache, which may be gone when there is an answer.
    const auto ask = [slot, algorithm, spec = std::string(spec), request, how = how_] {
      name_current_thread("planning");
      std::shared_ptr<const CompiledPlan> compiled;
      const auto thrown =
          exception_of([&] { compiled = compile(make_bounded_plan(spec, request), *how); });
      const std::lock_guard held(slot->mutex);
      slot->compiled = std::move(compiled);
      if (thrown) slot->refused = error_in(thrown, algorithm);
      if (slot->given_up) GivenUp::all().remove(algorithm);
      slot->answered.notify_all();
    };
    try {
      std::thread(ask).detach();
    } catch (const std::system_error& error) {
      throw Error(ErrorCode::io,
                  fmt::format("no thread to ask {} for a plan: {}", algorithm, error.what()));
    }
    slot->asked = true;
  }

  const Stopwatch watch;
  if (wait.tell) wait.tell(algorithm);
  const auto waiting_over = [&] {
    if (wait.tell) wait.tell("");
  };
  try {
    while (!slot->compiled && !slot->refused) {
      if (watch.elapsed() > wait.limit) {
        if (!std::exchange(slot->given_up, true)) GivenUp::all().add(algorithm);
        refuse_late(fmt::format("has not ended after {}", format_duration(wait.limit)));
      }
      if (wait.look) {
        lock.unlock();
        wait.look();
        lock.lock();
      }
      slot->answered.wait_for(lock, between_looks);
    }
  } catch (...) {
    waiting_over();
    throw;
  }
  waiting_over();
  return slot->answer();
}

}  // namespace ringside
