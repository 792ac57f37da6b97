// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/host/communicator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "ringside/base/options.hpp"
#include "ringside/base/text.hpp"
#include "ringside/collectives/reduction/fold.hpp"
#include "ringside/collectives/selector/host_default.hpp"

namespace ringside::host {
namespace {

constexpr std::size_t most_programs = 64;

// Where the system does not say how large the last cache is.
constexpr std::size_t assumed_last_cache = 32u << 20;

std::size_t last_cache_bytes() {
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : assumed_last_cache;
}

std::size_t total(std::span<const std::size_t> lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
}

}  // namespace

HostCommunicator::HostCommunicator(std::shared_ptr<Shared> shared, int rank,
                                   std::uint64_t calls_before)
    : shared_(std::move(shared)),
      rank_(rank),
      policy_(WaitPolicy::for_threads(shared_->ranks())),
      default_spec_(option<std::string>("algorithm")),
      most_inline_(option<std::uint64_t>("inline")),
      streaming_from_(last_cache_bytes()),
      call_(calls_before),
      bases_(static_cast<std::size_t>(shared_->ranks()) * 3) {
  (void)fold_isa();  // an option that cannot be used shows here, not in the middle of a call
  shared_->move_up(rank_, call_);
}

void HostCommunicator::run(const Call& call) {
  shared_->failure().throw_if_set(rank_);
  const Program& program = program_for(call);
  if (call.op == ReduceOp::premul_sum)
    require_scalable(program.compiled->plan, program.compiled->schedule);
  WaitPolicy policy = policy_;
  if (call.options->timeout) policy.limit = *call.options->timeout;

  enter(call, program, policy);
  if (program.runs_inline) return fold_entries(call);
  collect_addresses();
  if (program.lanes.size() == 1)
    run_single_lane(call, program, policy);
  else
    run_lanes(call, program, policy);
  leave(call, program, policy);
}

std::string HostCommunicator::spec_for(const Request& request, std::size_t bytes,
                                       const CallOptions& options) const {
  const std::string& spec = asked_spec(options);
  return spec == "auto" ? default_host_spec(request, bytes) : spec;
}

void HostCommunicator::abort(const std::string& why) {
  shared_->failure().set(Error(ErrorCode::aborted, fmt::format("aborted: {}", why)));
}

// --- set-up --------------------------------------------------------------------------------------

const Program& HostCommunicator::program_for(const Call& call) {
  const Request request{call.collective, size(), call.root, call.in_place};
  const std::size_t element_bytes = size_of(call.type);
  const std::string& asked = asked_spec(*call.options);
  const auto matches = [&](const CachedProgram& cached) {
    return cached.key.element_bytes == element_bytes && cached.key.request == request &&
           cached.key.spec == asked &&
           std::equal(cached.key.block_elements.begin(), cached.key.block_elements.end(),
                      call.block_elements.begin(), call.block_elements.end());
  };
  const auto found = std::find_if(programs_.begin(), programs_.end(), matches);
  if (found != programs_.end()) {
    if (found != programs_.begin()) std::rotate(programs_.begin(), found, found + 1);
    return *programs_.front().program;
  }
  auto compiled = shared_->plans().get(
      spec_for(request, total(call.block_elements) * element_bytes, *call.options), request);
  auto program = std::make_unique<const Program>(
      Program::bind(std::move(compiled), rank_, call.block_elements, element_bytes, most_inline_));
  if (programs_.size() >= most_programs) programs_.pop_back();
  programs_.insert(
      programs_.begin(),
      {{request, asked, {call.block_elements.begin(), call.block_elements.end()}, element_bytes},
       std::move(program)});
  return *programs_.front().program;
}

// --- enter ---------------------------------------------------------------------------------------

void HostCommunicator::enter(const Call& call, const Program& program, const WaitPolicy& policy) {
  const CompiledPlan& compiled = *program.compiled;
  lanes_ = compiled.schedule.lanes;
  stream_ = !call.in_place &&
            2 * static_cast<std::size_t>(size()) * total(call.block_elements) * size_of(call.type) >
                streaming_from_;
  // Before the call counts: a rank that finds no memory has made no call.
  std::byte* scratch = shared_->scratch(rank_, call_ + 1, program.scratch_bytes);

  ++call_;
  if (call_ % calls_between_moves == 0) shared_->move_up(rank_, call_);

  Entry& mine = shared_->entry(rank_, call_);
  mine.signature = Signature::of(call, compiled.hash, compiled.plan.spec().c_str());
  mine.digest = digest_of(mine.signature);
  if (!program.runs_inline)
    mine.addresses = {call.input, call.output, scratch};
  else if (mine.signature.elements > 0)
    std::memcpy(mine.message, call.input, mine.signature.elements * size_of(call.type));
  mine.call.store(call_, std::memory_order_release);

  await_entries(call, policy);
  compare_signatures();
}

void HostCommunicator::await_entries(const Call& call, const WaitPolicy& policy) {
  const auto entered = [&](int rank) {
    return shared_->entry(rank, call_).call.load(std::memory_order_acquire) == call_;
  };
  for (int peer = 0; peer < size(); ++peer) {
    bool gone = false;
    const auto result = wait_until(
        [&] {
          if (entered(peer)) return true;
          // A rank that has gone may have entered before it went: look again.
          gone = shared_->gone(peer) && !entered(peer);
          return gone;
        },
        policy, shared_->failure().flag());
    if (result == WaitResult::ready && !gone) continue;
    if (result == WaitResult::failed) shared_->failure().throw_cause(rank_);
    std::vector<int> missing;
    for (int rank = 0; rank < size(); ++rank)
      if (!entered(rank)) missing.push_back(rank);
    if (missing.empty()) continue;  // the last one came in the meantime
    fail(Error(ErrorCode::timeout,
               fmt::format("rank{} {} {} not entered {} (call {}){}", missing.size() > 1 ? "s" : "",
                           fmt::join(missing, ", "), missing.size() > 1 ? "have" : "has",
                           to_string(call.collective), call_,
                           gone ? fmt::format(": rank {} has returned without it", peer)
                                : fmt::format(" after {}", format_duration(policy.limit))))
             .at_rank(rank_)
             .with_peer(missing.front()));
  }
  // All have come, but who had given up by then has taken its buffers back.
  if (shared_->failure().flag().load(std::memory_order_acquire))
    shared_->failure().throw_cause(rank_);
}

void HostCommunicator::compare_signatures() {
  const std::uint64_t digest = shared_->entry(0, call_).digest;
  for (int peer = 1; peer < size(); ++peer) {
    if (shared_->entry(peer, call_).digest == digest) continue;
    const Signature& first = shared_->entry(0, call_).signature;
    const Signature& other = shared_->entry(peer, call_).signature;
    // All ranks come to the same verdict, and none has touched a buffer.
    throw Error(
        ErrorCode::mismatch,
        fmt::format("ranks made different calls (call {}): rank 0 {}; rank {} {}; they "
                    "differ in {}",
                    call_, describe(first), peer, describe(other), differences(first, other)))
        .at_rank(rank_)
        .with_peer(peer);
  }
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

void HostCommunicator::fold_entries(const Call& call) {
  sources_.clear();
  for (int peer = 0; peer < size(); ++peer) sources_.push_back(shared_->entry(peer, call_).message);
  destinations_.assign(1, call.output);
  fold({.sources = sources_,
        .destinations = destinations_,
        .elements = total(call.block_elements),
        .type = call.type,
        .op = call.op,
        .all_raw = true,
        .scalar = call.options->scalar,
        .completes = true,
        .ranks = size()});
}

// --- ops -----------------------------------------------------------------------------------------

void HostCommunicator::run_single_lane(const Call& call, const Program& program,
                                       const WaitPolicy& policy) {
  Progress& own = shared_->progress_of(rank_, 0);
  std::uint32_t done = 0;
  for (const Step& step : program.lanes.front()) {
    for (std::uint32_t i = 0; i < step.waits; ++i)
      await(program.waits[step.first_wait + i], call, program, policy);
    execute(call, program, step);
    own.done.store(progress(call_, ++done), std::memory_order_release);
  }
}

void HostCommunicator::run_lanes(const Call& call, const Program& program,
                                 const WaitPolicy& policy) {
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
        execute(call, program, step);
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
    if (result == WaitResult::failed) shared_->failure().throw_cause(rank_);
    for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
      if (!unfinished(lane)) continue;
      if (const auto* wait = first_unreached(program, program.lanes[lane][next_step_[lane]]))
        fail_waiting_for(*wait, call, program, policy);
    }
  }
}

void HostCommunicator::execute(const Call& call, const Program& program, const Step& step) {
  const OpFacts& facts = program.compiled->schedule.facts[step.op];
  sources_.resize(step.sources);
  destinations_.resize(step.destinations);
  for (std::uint32_t i = 0; i < step.runs; ++i) {
    const Run& run = program.runs[step.first_run + i];
    const Address* address = &program.addresses[run.first_address];
    for (auto& source : sources_) source = bases_[address->base] + address->offset, ++address;
    for (auto& destination : destinations_)
      destination = bases_[address->base] + address->offset, ++address;
    fold({.sources = sources_,
          .destinations = destinations_,
          .elements = run.elements,
          .type = call.type,
          .op = call.op,
          .raw_mask = facts.raw_mask,
          .all_raw = facts.all_raw,
          .scalar = call.options->scalar,
          .completes = facts.completes,
          .ranks = size(),
          .streaming = stream_ && facts.last_use});
  }
}

bool HostCommunicator::reached(const BoundWait& wait) const {
  const auto lanes = static_cast<std::uint32_t>(lanes_);
  const auto& of_stream = shared_->progress_of(static_cast<int>(wait.stream / lanes),
                                               static_cast<int>(wait.stream % lanes));
  return host::reached(of_stream.done.load(std::memory_order_acquire), progress(call_, wait.value));
}

const BoundWait* HostCommunicator::first_unreached(const Program& program, const Step& step) const {
  for (std::uint32_t i = 0; i < step.waits; ++i)
    if (!reached(program.waits[step.first_wait + i])) return &program.waits[step.first_wait + i];
  return nullptr;
}

void HostCommunicator::await(const BoundWait& wait, const Call& call, const Program& program,
                             const WaitPolicy& policy) {
  const auto result = wait_until([&] { return reached(wait); }, policy, shared_->failure().flag());
  if (result == WaitResult::ready) return;
  if (result == WaitResult::failed) shared_->failure().throw_cause(rank_);
  fail_waiting_for(wait, call, program, policy);
}

// --- leave, and failing --------------------------------------------------------------------------

void HostCommunicator::leave(const Call& call, const Program& program, const WaitPolicy& policy) {
  for (const BoundWait& wait : program.leave_waits) await(wait, call, program, policy);
}

void HostCommunicator::fail(const Error& cause) {
  shared_->failure().set(cause);
  shared_->failure().throw_cause(rank_);
}

void HostCommunicator::fail_waiting_for(const BoundWait& wait, const Call& call,
                                        const Program& program, const WaitPolicy& policy) {
  const int peer = static_cast<int>(wait.stream) / lanes_;
  const auto& ops = program.compiled->schedule.streams[wait.stream];
  const int op = ops[(wait.value - 1) % ops.size()];
  fail(Error(ErrorCode::timeout,
             fmt::format("rank {} has not finished op {} of {} ({}, call {}) after {}", peer, op,
                         to_string(call.collective), program.compiled->plan.spec(), call_,
                         format_duration(policy.limit)))
           .at_rank(rank_)
           .with_peer(peer)
           .at_step(op));
}

}  // namespace ringside::host
