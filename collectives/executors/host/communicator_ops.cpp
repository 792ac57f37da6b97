// SPDX-License-Identifier: MIT
/// How a rank runs its ops and leaves a call, or gives it up.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "ringside/base/threads.hpp"
#include "ringside/collectives/executors/host/agreement.hpp"
#include "ringside/collectives/executors/host/checks.hpp"
#include "ringside/collectives/executors/host/communicator.hpp"

namespace ringside::host {
namespace {

/// Says that this rank is in its ops, until it leaves them in whatever way.
class BusyMark {
 public:
  BusyMark(std::atomic<std::uint64_t>& busy, std::uint64_t call) : busy_(busy) {
    busy_.store(call, std::memory_order_relaxed);
  }
  ~BusyMark() { busy_.store(0, std::memory_order_release); }
  BusyMark(const BusyMark&) = delete;
  BusyMark& operator=(const BusyMark&) = delete;

 private:
  std::atomic<std::uint64_t>& busy_;
};

}  // namespace

// --- ops -----------------------------------------------------------------------------------------

void HostCommunicator::run_program(const Call& call, const Program& program,
                                   const WaitPolicy& policy) {
  collect_addresses();
  run_ops(call, program, policy);
}

void HostCommunicator::run_checked(const Call& call, const Program& program,
                                   const WaitPolicy& policy) {
  collect_addresses();
  const Checker checker(program, rank_, bases_.data(), call_ + 1);  // the ops' call
  checker.sum_inputs();
  meet_again(call, policy);
  try {
    run_ops(call, program, policy);
    checker.compare_outputs();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::corrupted) fail(error);
    throw;
  }
  meet_again(call, policy);
}

void HostCommunicator::meet_again(const Call& call, const WaitPolicy& policy) {
  publish(call, barrier_within_call_, nullptr, nullptr);
  await_entries(call, policy);
  (void)agree();
}

void HostCommunicator::run_ops(const Call& call, const Program& program, const WaitPolicy& policy) {
  // First say so, then look: who fails does it the other way round (give_up).
  const BusyMark mark(shared_->busy(rank_), call_);
  light_fence();
  if (shared_->failure().flag().load(std::memory_order_acquire)) give_up();
  sources_.resize(std::max<std::size_t>(sources_.size(), program.most_sources));
  destinations_.resize(std::max<std::size_t>(destinations_.size(), program.most_destinations));
  const auto run = [&](auto&& execute) {
    if (program.lanes.size() == 1)
      run_single_lane(call, program, policy, execute);
    else
      run_lanes(call, program, policy, execute);
  };
  if (program.checks)
    run([&](const Step& step) { execute_checked(program, step); });
  else
    run([&](const Step& step) { execute(program, step); });
  leave(call, program, policy);
}

template <class Execute>
void HostCommunicator::run_single_lane(const Call& call, const Program& program,
                                       const WaitPolicy& policy, Execute& execute) {
  Progress& own = shared_->progress_of(rank_, 0);
  std::uint32_t done = 0;
  for (const Step& step : program.lanes.front()) {
    for (std::uint32_t i = 0; i < step.waits; ++i)
      await(program.waits[step.first_wait + i], call, program, policy);
    execute(step);
    own.done.store(progress(call_, ++done), std::memory_order_release);
  }
}

template <class Execute>
void HostCommunicator::run_lanes(const Call& call, const Program& program, const WaitPolicy& policy,
                                 Execute& execute) {
  next_step_.assign(program.lanes.size(), 0);
  const auto unfinished = [&](std::size_t lane) {
    return next_step_[lane] < program.lanes[lane].size();
  };
  /// Runs what can be run; true if anything could, or nothing is left.
  const auto advance = [&] {
    bool moved = false;
    bool left = false;
    for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
      while (unfinished(lane)) {
        const Step& step = program.lanes[lane][next_step_[lane]];
        if (first_unreached(program, step)) break;
        execute(step);
        shared_->progress_of(rank_, static_cast<int>(lane))
            .done.store(progress(call_, ++next_step_[lane]), std::memory_order_release);
        moved = true;
      }
      left = left || unfinished(lane);
    }
    return moved || !left;
  };
  const auto any_left = [&] {
    for (std::size_t lane = 0; lane < program.lanes.size(); ++lane)
      if (unfinished(lane)) return true;
    return false;
  };
  while (any_left()) {
    const auto result = wait_until(advance, policy, shared_->failure().flag());
    if (result == WaitResult::ready) continue;
    if (result == WaitResult::failed) give_up();
    for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
      if (!unfinished(lane)) continue;
      if (const auto* wait = first_unreached(program, program.lanes[lane][next_step_[lane]]))
        fail_waiting_for(*wait, call, program, policy);
    }
  }
}

void HostCommunicator::execute(const Program& program, const Step& step) {
  fold_step(program, step, bases_.data(), sources_.data(), destinations_.data());
}

void HostCommunicator::execute_checked(const Program& program, const Step& step) {
  const Checker checker(program, rank_, bases_.data(), call_);
  checker.before(step);
  execute(program, step);
  checker.after(step);
}

bool HostCommunicator::reached(const BoundWait& wait) const {
  const auto& done = shared_->progress_of(wait.rank, wait.lane).done;
  return host::reached(done.load(std::memory_order_acquire), progress(call_, wait.value));
}

const BoundWait* HostCommunicator::first_unreached(const Program& program, const Step& step) const {
  for (std::uint32_t i = 0; i < step.waits; ++i)
    if (!reached(program.waits[step.first_wait + i])) return &program.waits[step.first_wait + i];
  return nullptr;
}

void HostCommunicator::await(const BoundWait& wait, const Call& call, const Program& program,
                             const WaitPolicy& policy) {
  const auto ready = [&] { return reached(wait); };
  if (spin_until(ready, shares_core(wait.rank, policy) ? Spins{} : policy.spins)) return;
  Backoff backoff(policy);
  const auto result = back_off_until(ready, backoff, shared_->failure().flag());
  if (result == WaitResult::ready) return;
  if (result == WaitResult::failed) give_up();
  fail_waiting_for(wait, call, program, policy);
}

// --- leave, and failing --------------------------------------------------------------------------

void HostCommunicator::work_on_call(const std::function<void()>& work) {
  // First say so, then look: who fails does it the other way round (give_up).
  const BusyMark mark(shared_->busy(rank_), call_);
  light_fence();
  if (shared_->failure().flag().load(std::memory_order_acquire))
    shared_->failure().throw_cause(rank_);
  work();
}

void HostCommunicator::leave(const Call& call, const Program& program, const WaitPolicy& policy) {
  for (const BoundWait& wait : program.leave_waits) await(wait, call, program, policy);
}

void HostCommunicator::fail(const Error& cause) {
  shared_->failure().set(cause);
  give_up();
}

void HostCommunicator::give_up() {
  // Ranks in the middle of their ops stop at their next wait; who is not among them by now has seen
  // the failure and touches nothing.
  shared_->busy(rank_).store(0, std::memory_order_release);
  heavy_fence();
  const std::atomic<bool> never{false};
  WaitPolicy patient = policy_;
  patient.limit = Seconds{std::numeric_limits<double>::infinity()};  // ops always end
  for (int peer = 0; peer < size(); ++peer) {
    Backoff backoff(patient);
    const auto is_elsewhere = [&] {
      const std::uint64_t busy = shared_->busy(peer).load(std::memory_order_acquire);
      return busy == 0 || busy != call_;  // this rank may not have made a call yet
    };
    back_off_until(is_elsewhere, backoff, never);
  }
  shared_->failure().throw_cause(rank_);
}

void HostCommunicator::fail_waiting_for(const BoundWait& wait, const Call& call,
                                        const Program& program, const WaitPolicy& policy) {
  const int peer = wait.rank;
  const Schedule& schedule = program.compiled->schedule;
  const auto& ops =
      schedule.streams[static_cast<std::size_t>(peer * schedule.lanes + int{wait.lane})];
  const int op = ops[(wait.value - 1) % ops.size()];
  fail(unfinished_op(peer, op, call.collective, program.compiled->plan.spec(), call_, rank_,
                     policy.limit));
}

}  // namespace ringside::host
