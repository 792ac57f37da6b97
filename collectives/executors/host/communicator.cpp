// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/host/communicator.hpp"

#include <fmt/format.h>

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "ringside/base/options.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/collectives/backend.hpp"
#include "ringside/collectives/executors/host/agreement.hpp"
#include "ringside/collectives/executors/host/checks.hpp"
#include "ringside/collectives/reduction/fold.hpp"
#include "ringside/collectives/selector/choice.hpp"

namespace ringside::host {
namespace {

// What of a message lies in the first line of its entry.
constexpr std::size_t message_in_first_line = 64 - offsetof(Entry, message);

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

[[noreturn]] void refuse_stream() {
  throw Error(ErrorCode::invalid_argument,
              "a stream is for GPUs: ranks that are threads have none");
}

class HostBackend final : public Backend {
 public:
  MakeEnd begin(std::shared_ptr<Shared> meeting) override {
    return [meeting = std::move(meeting)](int rank) {
      return std::make_unique<HostCommunicator>(meeting, rank);
    };
  }
};

}  // namespace

HostCommunicator::HostCommunicator(std::shared_ptr<Shared> shared, int rank,
                                   std::uint64_t calls_before, Messages::Copy copy)
    : shared_(std::move(shared)),
      rank_(rank),
      policy_(WaitPolicy::for_threads(shared_->ranks())),
      default_spec_(option<std::string>("algorithm")),
      preparation_{rank,
                   shared_->ranks(),
                   shared_->job().most_inline(),
                   {},
                   shared_->job().checksum() ? Program::Checksums::all : Program::Checksums::none},
      prepared_calls_(shared_->ranks()),
      call_(calls_before),
      bases_(static_cast<std::size_t>(shared_->ranks()) * bases_per_rank),
      sources_(static_cast<std::size_t>(shared_->ranks())),
      messages_(*shared_, rank, std::move(copy)) {
  (void)fold_isa();  // an option that cannot be used shows here, not in the middle of a call
  shared_->move_up(rank_, call_);
}

void HostCommunicator::run(const Call& call) {
  shared_->failure().throw_if_set(rank_);
  if (call.options->stream) refuse_stream();
  const Prepared& prepared = this->prepared(call);
  shared_->job().adapt(policy_);
  WaitPolicy own_policy;
  if (call.options->timeout) {
    own_policy = policy_;
    own_policy.limit = *call.options->timeout;
  }
  const WaitPolicy& policy = call.options->timeout ? own_policy : policy_;

  // Before the call counts: a rank that finds no memory has made no call.
  std::byte* const scratch = prepared.scratch_bytes == 0
                                 ? nullptr
                                 : shared_->scratch(rank_, call_ + 1, prepared.scratch_bytes);
  publish(call, prepared.signed_call, prepared.small ? &*prepared.small : nullptr, scratch);
  await_entries(call, policy);
  const Placement placement = agree();
  if (prepared.small) return fold_messages(call, *prepared.small);
  if (call.collective == Collective::barrier) return;
  const Program& program = prepared.program(placement);
  if (program.checks)
    run_checked(call, program, policy);
  else
    run_program(call, program, policy);
}

WaitPolicy HostCommunicator::policy_for(const CallOptions& options) const {
  WaitPolicy policy = policy_;
  shared_->job().adapt(policy);
  if (options.timeout) policy.limit = *options.timeout;
  return policy;
}

HostCommunicator::Meeting HostCommunicator::meet(const Call& call, const SignedCall& signed_call,
                                                 std::byte* extra) {
  shared_->failure().throw_if_set(rank_);
  const WaitPolicy policy = policy_for(*call.options);
  publish(call, signed_call, nullptr, extra);
  await_entries(call, policy);
  return {agree(), call_};
}

void HostCommunicator::work_on_call(const std::function<void()>& work) {
  // First say so, then look: who fails does it the other way round (give_up).
  const BusyMark mark(shared_->busy(rank_), call_);
  light_fence();
  if (shared_->failure().flag().load(std::memory_order_acquire))
    shared_->failure().throw_cause(rank_);
  work();
}

Choice HostCommunicator::choice_for(const Request& request, std::size_t bytes,
                                    const CallOptions& options) const {
  if (auto choice = named(options)) return std::move(*choice);
  const Job& job = shared_->job();
  return choose(job.tuning(), {"host", job.cores()}, request, bytes);
}

void HostCommunicator::abort(const std::string& why) { shared_->failure().set(aborted(why)); }

void HostCommunicator::add_message(const Message& message, const CallOptions& options, Over over) {
  if (options.stream) return over(exception_of(refuse_stream));
  messages_.add(message, options.timeout.value_or(policy_.limit), std::move(over));
}

bool HostCommunicator::work_on_messages(const std::function<bool()>& more) {
  return messages_.work(policy_, more);
}

std::shared_ptr<std::byte> HostCommunicator::shared_memory(std::size_t bytes) {
  constexpr std::size_t page = 4096;
  void* const memory = std::aligned_alloc(page, std::max(bytes + page - 1, page) / page * page);
  if (memory == nullptr)
    throw Error(ErrorCode::io, fmt::format("no memory for a buffer of {} bytes", bytes))
        .at_rank(rank_);
  std::memset(memory, 0, bytes);
  return {static_cast<std::byte*>(memory), [](std::byte* at) { std::free(at); }};
}

const Prepared& HostCommunicator::prepared(const Call& call) {
  return prepared_calls_.get(call, call.options->algorithm, [&] {
    Preparation how = preparation_;
    how.spec_for = [&](const Request& request, std::size_t bytes) {
      return spec_for(request, bytes, *call.options);
    };
    Prepared made;
    plan(*call.options, [&](const PlanWait& wait) {
      how.wait = wait;
      made = prepare(call, how, shared_->plans());
    });
    return made;
  });
}

void HostCommunicator::plan(const CallOptions& options,
                            const std::function<void(const PlanWait&)>& work) {
  const auto tell = [&](const std::string& algorithm) { shared_->set_planning(rank_, algorithm); };
  const auto look = [&] {
    if (shared_->failure().flag().load(std::memory_order_acquire)) give_up();
  };
  try {
    work({options.timeout.value_or(policy_.limit), tell, look});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::timeout) throw;
    fail(planning_overdue(error, rank_));
  }
}

// --- enter ---------------------------------------------------------------------------------------

void HostCommunicator::publish(const Call& call, const SignedCall& signed_call,
                               const SmallMessage* small, std::byte* scratch) {
  ++call_;
  if (call_ % calls_between_moves == 0) shared_->move_up(rank_, call_);

  Entry& mine = shared_->entry(rank_, call_);
  if (std::uint64_t& published = published_[call_ & 1]; published != signed_call.digest) {
    mine.signature = signed_call.signature;
    mine.digest = published = signed_call.digest;
  }
  if (small == nullptr)
    mine.addresses = {call.input, call.output, scratch};
  else if (const std::size_t bytes = small->input_bytes(); bytes > 0)
    std::memcpy(mine.message, call.input, bytes);
  mine.call.store(call_, std::memory_order_release);
}

void HostCommunicator::await_entries(const Call& call, const WaitPolicy& policy) {
  if (policy.crowded) {
    note_seat();
    // Before anybody is spun for: who sits on this core can do nothing meanwhile.
    for (int peer = 0; peer < size(); ++peer)
      if (shares_core(peer, policy) && !entered(peer)) return await_late_entries(call, policy);
  }
  // Not the own entry: its line belongs to the peers now, and reading it would take it from them.
  for (int peer = 0; peer < size(); ++peer)
    if (peer != rank_ && !spin_until([&] { return entered(peer); }, policy.entry_spins))
      return await_late_entries(call, policy);
}

void HostCommunicator::await_late_entries(const Call& call, const WaitPolicy& policy) {
  Backoff backoff(policy);  // one limit for all of them
  for (int peer = 0; peer < size(); ++peer)
    if (shares_core(peer, policy)) await_late_entry(peer, backoff, call, policy);
  for (int peer = 0; peer < size(); ++peer)  // all: ranks move from core to core meanwhile
    if (peer != rank_) await_late_entry(peer, backoff, call, policy);
}

void HostCommunicator::await_late_entry(int peer, Backoff& backoff, const Call& call,
                                        const WaitPolicy& policy) {
  // A rank that shares this core cannot come while it is spun for.
  const Spins spins = shares_core(peer, policy) ? Spins{} : policy.entry_spins;
  if (spin_until([&] { return entered(peer); }, spins)) return;
  bool gone = false;
  const auto come_or_gone = [&] {
    if (entered(peer)) return true;
    // A rank that has gone may have entered before it went: look again.
    gone = shared_->gone(peer) && !entered(peer);
    return gone;
  };
  const auto result = back_off_until(come_or_gone, backoff, shared_->failure().flag());
  if (result == WaitResult::failed) give_up();
  if (result == WaitResult::timed_out || gone) fail_unless_complete(call, policy, gone ? peer : -1);
}

void HostCommunicator::note_seat() {
  const int cpu = sched_getcpu();
  if (cpu == cpu_) return;
  cpu_ = cpu;
  shared_->cpu_of(rank_).store(cpu, std::memory_order_relaxed);
}

void HostCommunicator::fail_unless_complete(const Call& call, const WaitPolicy& policy, int gone) {
  std::vector<int> missing;
  // Where one has gone, others may just not have come yet.
  for (int rank = 0; rank < size(); ++rank)
    if (!entered(rank) && (gone < 0 || shared_->gone(rank))) missing.push_back(rank);
  if (missing.empty()) return;  // the last one came in the meantime
  fail(missing_ranks(missing, call.collective, call_, rank_, gone, policy.limit,
                     [&](int rank) { return shared_->planning(rank); }));
}

Placement HostCommunicator::agree() {
  const std::uint64_t digest = published_[call_ & 1];
  for (int peer = 0; peer < size(); ++peer)
    if (peer != rank_ && shared_->entry(peer, call_).digest != digest) return compare_calls();
  return placement_of(digest);
}

Placement HostCommunicator::compare_calls() {
  std::vector<PublishedCall> published;
  for (int peer = 0; peer < size(); ++peer) {
    const Entry& entry = shared_->entry(peer, call_);
    published.push_back({entry.digest, &entry.signature});
  }
  // None has touched a buffer.
  return agreed_placement(published, rank_, call_);
}

void HostCommunicator::collect_addresses() {
  for (int peer = 0; peer < size(); ++peer) {
    const Addresses& addresses = shared_->entry(peer, call_).addresses;
    // Inputs are only read: the prover refuses plans that write them.
    bases_[base_index(peer, Buffer::input)] = const_cast<std::byte*>(addresses.input);
    bases_[base_index(peer, Buffer::output)] = addresses.output;
    bases_[base_index(peer, Buffer::scratch)] = addresses.scratch;
  }
}

void HostCommunicator::prefetch_messages(std::size_t bytes) {
  if (bytes <= message_in_first_line) {
    prefetch_to_write(&shared_->entry(rank_, call_ + 1));
    return;
  }
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank_) continue;
    const std::byte* message = shared_->entry(peer, call_).message;
    for (std::size_t at = message_in_first_line; at < bytes; at += 64)
      __builtin_prefetch(message + at);
  }
}

void HostCommunicator::fold_messages(const Call& call, const SmallMessage& message) {
  prefetch_messages(message.longest_input_bytes());
  // The own input from where the caller has it: the entry's line is the peers' now.
  message.fold(sources_.data(), call.output, [&](int rank) {
    return rank == rank_ ? call.input : shared_->entry(rank, call_).message;
  });
}

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

namespace ringside {

std::unique_ptr<Backend> make_host_backend() { return std::make_unique<host::HostBackend>(); }

}  // namespace ringside
