// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/host/communicator.hpp"

#include <fmt/format.h>

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "ringside/base/options.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/collectives/backend.hpp"
#include "ringside/collectives/executors/host/agreement.hpp"
#include "ringside/collectives/reduction/fold.hpp"
#include "ringside/collectives/selector/choice.hpp"

namespace ringside::host {
namespace {

// What of a message lies in the first line of its entry.
constexpr std::size_t message_in_first_line = 64 - offsetof(Entry, message);

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

}  // namespace ringside::host

namespace ringside {

std::unique_ptr<Backend> make_host_backend() { return std::make_unique<host::HostBackend>(); }

}  // namespace ringside
