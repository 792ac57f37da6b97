// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/mpi/communicator.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "ringside/base/options.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/collectives/executors/host/agreement.hpp"
#include "ringside/collectives/reduction/fold.hpp"
#include "ringside/collectives/selector/choice.hpp"
#include "ringside/collectives/selector/hosts_choice.hpp"

namespace ringside::mpi {
namespace {

[[noreturn]] void refuse_stream() {
  throw Error(ErrorCode::invalid_argument,
              "a stream is for GPUs: ranks that are processes have none");
}

}  // namespace

MpiCommunicator::MpiCommunicator(std::shared_ptr<Job> job, std::shared_ptr<Board> board,
                                 int context)
    : job_(std::move(job)),
      board_(std::move(board)),
      tags_(context, board_->team().transport().greatest_tag()),
      exchange_(*board_, tags_, job_->most_inline()),
      watch_(*board_, exchange_),
      plans_(*board_, job_->gpus(),
             job_->checksum() ? host::Program::Checksums::all : host::Program::Checksums::none),
      runner_(*board_, tags_, job_->gpus()),
      messages_(*board_, exchange_, watch_, tags_),
      policy_(job_->policy()),
      default_spec_(option<std::string>("algorithm")),
      gpu_(job_->gpus().own()),
      sources_(static_cast<std::size_t>(board_->ranks())) {
  for (std::size_t i = 0; i < memories; ++i) prepared_calls_.emplace_back(board_->ranks());
  (void)fold_isa();  // an option that cannot be used shows here, not in the middle of a call
  for (int rank = 0; rank < board_->ranks(); ++rank)
    if (rank != board_->rank()) others_.push_back(rank);
}

bool MpiCommunicator::runs_where_awaited() {
  const Transport& transport = board_->team().transport();
  if (transport.any_thread()) return false;
  static std::once_flag told;
  if (board_->team().rank() == 0)
    std::call_once(told, [&] {
      fmt::print(stderr,
                 "ringside: {} gives no MPI_THREAD_MULTIPLE: asynchronous calls go on only where a "
                 "rank waits for one or tests one\n",
                 transport.library());
    });
  return true;
}

void MpiCommunicator::run(const Call& call) {
  begin(call);
  run_begun();
}

void MpiCommunicator::run_begun() {
  const Call& call = *begun_.call;
  await_entries(call, begun_.policy);
  const Bound* bound = settled(call, *begun_.prepared);
  if (bound == nullptr) return;
  if (bound->program.checks)
    run_checked(call, *bound, begun_.policy);
  else
    run_program(call, *bound, begun_.policy);
}

void MpiCommunicator::check_thread() const {
  const Transport& transport = board_->team().transport();
  if (transport.any_thread() || std::this_thread::get_id() == maker_) return;
  throw Error(ErrorCode::unsupported,
              fmt::format("{} gives no MPI_THREAD_MULTIPLE: only the thread that made a world of "
                          "processes may make calls",
                          transport.library()))
      .at_rank(rank());
}

void MpiCommunicator::begin(const Call& call) {
  check_thread();
  if (!board_->one_host()) watch_.look();  // what happened while this rank was elsewhere
  throw_if_failed(*board_);
  begun_ = {.call = &call, .policy = job_->policy(), .looked = now()};
  begun_.policy.limit = call.options->timeout.value_or(policy_.limit);
  await_stream(call, begun_.policy.limit);
  const Memory memory = memory_of(call);
  const Prepared& prepared = this->prepared(call, memory);
  begun_.prepared = &prepared;
  // Before the call counts: a rank that finds no memory has made no call.
  publish(call, prepared.signed_call, prepared.small ? &*prepared.small : nullptr,
          place(call, prepared, memory));
}

bool MpiCommunicator::advance() {
  if (job_->checksum()) {  // several meetings: made at once
    run_begun();
    return true;
  }
  const Call& call = *begun_.call;
  if (begun_.bound == nullptr) {
    bool entered = false;
    guarded([&] { entered = all_entered(); });
    if (!entered) {
      look_at_begun();
      return false;
    }
    begun_.bound = settled(call, *begun_.prepared);
    if (begun_.bound == nullptr) return true;
    begin_ops(*begun_.bound);
  }
  bool moved = false;
  guarded([&] { moved = !runner_.is_over() && runner_.advance(); });
  if (moved) begun_.waited = Seconds{0};
  if (!runner_.is_over() || runner_.leave_obstacle() != nullptr) {
    look_at_begun();
    return false;
  }
  end_ops();
  return true;
}

const Bound* MpiCommunicator::settled(const Call& call, const Prepared& prepared) {
  const Placement placement = agree();
  if (prepared.small) {
    fold_messages(call, *prepared.small);
    return nullptr;
  }
  if (call.collective == Collective::barrier) return nullptr;
  return &prepared.program(placement, agreed_reach(prepared));
}

Choice MpiCommunicator::choice_for(const Request& request, std::size_t bytes,
                                   const CallOptions& options) const {
  if (auto choice = named_choice(options, default_spec_)) return std::move(*choice);
  if (board_->one_host())
    return choose(job_->tuning(), {"host", board_->team().cores()}, request, bytes);
  HostsLayout layout{.host_of = {}, .network_bandwidth = board_->team().network_bandwidth()};
  for (int rank = 0; rank < size(); ++rank)
    layout.host_of.push_back(board_->team().host_of(board_->member(rank)));
  return choose_across_hosts(layout, request, bytes);
}

std::string MpiCommunicator::on_machine(const Request& /*request*/, std::size_t /*bytes*/,
                                        const std::string& /*spec*/) const {
  if (!plans_.on_gpus()) return {};
  return job_->gpus().unreached(board_->members());
}

void MpiCommunicator::add_message(const Message& message, const CallOptions& options, Over over) {
  if (options.stream) return over(exception_of(refuse_stream));
  const Seconds limit = options.timeout.value_or(policy_.limit);
  const std::size_t bytes = message.elements * size_of(message.type);
  bool on_gpu = false;
  auto staged = std::make_shared<std::vector<std::byte>>();
  if (auto error = exception_of([&] {
        on_gpu = gpu_ != nullptr && bytes > 0 && gpu_->reaches(message.data);
        if (!on_gpu) return;
        staged->resize(bytes);
        if (message.direction == Message::Direction::send)
          gpu_->copy(staged->data(), static_cast<const std::byte*>(message.data), bytes);
      }))
    return over(std::move(error));
  if (!on_gpu) return messages_.add(message, limit, std::move(over));
  Message at_host = message;
  at_host.data = staged->data();
  messages_.add(
      at_host, limit, [this, staged, message, over = std::move(over)](std::exception_ptr error) {
        if (!error && message.direction == Message::Direction::receive)
          error = exception_of([&] {
            gpu_->copy(static_cast<std::byte*>(message.data), staged->data(), staged->size());
          });
        over(std::move(error));
      });
}

bool MpiCommunicator::work_on_messages(const std::function<bool()>& more) {
  return messages_.work(job_->policy(), more);
}

std::shared_ptr<std::byte> MpiCommunicator::shared_memory(std::size_t bytes) {
  return gpu_ != nullptr ? Exports::allocate(job_->gpus().exports(), bytes)
                         : Arena::allocate(board_->team().arena(), bytes);
}

void MpiCommunicator::begin_thread() {
  if (gpu_ != nullptr) (void)exception_of([&] { gpu_->use(); });
}

const Prepared& MpiCommunicator::prepared(const Call& call, Memory memory) {
  return prepared_calls_[static_cast<std::size_t>(memory)].get(call, call.options->algorithm, [&] {
    const SpecFor spec = [&](const Request& request, std::size_t bytes) {
      return spec_for(request, bytes, *call.options);
    };
    try {
      return plans_.prepare(call, job_->most_inline(), memory, spec, plan_wait(*call.options));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::timeout) throw;
      fail(host::planning_overdue(error, rank()));
    }
  });
}

PlanWait MpiCommunicator::plan_wait(const CallOptions& options) {
  return {
      .limit = options.timeout.value_or(policy_.limit),
      .tell = [&](const std::string& algorithm) { board_->block(rank()).planning.set(algorithm); },
      .look =
          [&] {
            if (board_->failure().set.load(std::memory_order_acquire)) give_up();
            watch_.look();
          }};
}

void MpiCommunicator::await_stream(const Call& call, Seconds limit) const {
  if (!call.options->stream) return;
  if (gpu_ == nullptr) refuse_stream();
  gpu_->await(*call.options->stream, limit);
}

// --- waiting for others, ops, leave --------------------------------------------------------------

template <class Ready, class Overdue>
void MpiCommunicator::await(Ready ready, const host::WaitPolicy& policy, host::Spins spins,
                            Overdue overdue) {
  if (host::spin_until(ready, spins)) return;
  host::Backoff backoff(policy);
  while (!ready()) {
    if (board_->failure().set.load(std::memory_order_acquire)) give_up();
    watch_.look();
    const bool timed_out = !backoff.pause();
    if (timed_out && ready()) return;
    overdue(timed_out);
  }
}

template <class Work>
void MpiCommunicator::guarded(Work work) {
  try {
    work();
  } catch (const Error& error) {
    if (!board_->failure().set.load(std::memory_order_acquire)) fail(error);
    throw;
  }
}

void MpiCommunicator::await_entries(const Call& call, const host::WaitPolicy& policy) {
  try {
    await([&] { return all_entered(); }, policy, policy.entry_spins,
          [&](bool timed_out) { entries_overdue(call, policy, timed_out); });
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io) end(error);  // the MPI refuses
    throw;
  }
}

void MpiCommunicator::begin_ops() {
  // First say so, then look: who fails does it the other way round (give_up).
  board_->block(rank()).busy.call.store(call_, std::memory_order_seq_cst);
  if (board_->failure().set.load(std::memory_order_seq_cst)) give_up();
}

void MpiCommunicator::begin_ops(const Bound& bound) {
  begin_ops();
  guarded([&] { runner_.begin(bound, call_, own_); });
}

void MpiCommunicator::run_program(const Call& call, const Bound& bound,
                                  const host::WaitPolicy& policy) {
  begin_ops(bound);
  run_ops(call, bound, policy);
  end_ops();
}

void MpiCommunicator::run_checked(const Call& call, const Bound& bound,
                                  const host::WaitPolicy& policy) {
  guarded([&] { runner_.begin(bound, call_, own_); });
  runner_.sum_inputs(call_ + 1);
  meet_again(call, policy);
  begin_ops();
  run_ops(call, bound, policy);
  guarded([&] { runner_.compare_outputs(); });
  end_ops();
  meet_again(call, policy);
}

void MpiCommunicator::meet_again(const Call& call, const host::WaitPolicy& policy) {
  publish(call, barrier_within_call_, nullptr, {});
  await_entries(call, policy);
  (void)agree();
}

void MpiCommunicator::run_ops(const Call& call, const Bound& bound,
                              const host::WaitPolicy& policy) {
  const auto overdue = [&](bool timed_out) { ops_overdue(call, bound, policy, timed_out); };
  guarded([&] {
    while (!runner_.is_over())
      if (!runner_.advance())
        await([&] { return runner_.advance(); }, policy, policy.spins, overdue);
    await([&] { return runner_.leave_obstacle() == nullptr; }, policy, policy.spins, overdue);
  });
}

}  // namespace ringside::mpi
