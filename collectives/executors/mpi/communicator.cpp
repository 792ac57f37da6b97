// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/mpi/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "ringside/base/options.hpp"
#include "ringside/base/threads.hpp"
#include "ringside/collectives/executors/host/agreement.hpp"
#include "ringside/collectives/executors/host/split.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/collectives/reduction/fold.hpp"
#include "ringside/collectives/selector/choice.hpp"
#include "ringside/collectives/selector/hosts_choice.hpp"

namespace ringside::mpi {
namespace {

/// How long a rank that gives up waits for others to end what they do with its memory.
constexpr Seconds longest_retreat{1};

[[noreturn]] void refuse_stream() {
  throw Error(ErrorCode::invalid_argument,
              "a stream is for GPUs: ranks that are processes have none");
}

/// Bytes of a rank's input or output.
std::size_t bytes_of(const Call& call, int rank, int ranks, Buffer buffer) {
  const BlockRange held = blocks_in(call.request(ranks, false), rank, buffer);
  std::size_t elements = 0;
  for (int i = 0; i < held.count; ++i)
    elements += call.blocks[call.blocks.size() == 1
                                ? std::size_t{0}
                                : static_cast<std::size_t>(held.first + i * held.stride)];
  return elements * size_of(call.type);
}

}  // namespace

MpiCommunicator::MpiCommunicator(std::shared_ptr<Job> job, std::shared_ptr<Board> board,
                                 int context)
    : job_(std::move(job)),
      board_(std::move(board)),
      tags_(context, board_->team().transport().greatest_tag()),
      exchange_(*board_, tags_, job_->most_inline()),
      watch_(*board_, exchange_),
      plans_(*board_),
      runner_(*board_, tags_),
      messages_(*board_, exchange_, watch_, tags_),
      policy_(job_->policy()),
      default_spec_(option<std::string>("algorithm")),
      prepared_calls_{CallCache<Prepared>(board_->ranks()), CallCache<Prepared>(board_->ranks())},
      sources_(static_cast<std::size_t>(board_->ranks())) {
  (void)fold_isa();  // an option that cannot be used shows here, not in the middle of a call
  for (int rank = 0; rank < board_->ranks(); ++rank)
    if (rank != board_->rank()) others_.push_back(rank);
}

MpiCommunicator::~MpiCommunicator() {
  try {
    if (std::uncaught_exceptions() > 0)
      end(Error(ErrorCode::aborted, "a rank ended with an error"));
    board_->block(rank()).gone.store(true);
    exchange_.send_gone(call_);
  } catch (const std::exception&) {
    // The MPI refuses: the others will find out by themselves.
  }
}

void MpiCommunicator::end(const Error& cause) {
  if (board_->failure().store(cause)) exchange_.send_failure(cause);
}

void MpiCommunicator::run(const Call& call) {
  if (!board_->one_host()) watch_.look();  // what happened while this rank was elsewhere
  throw_if_failed(*board_);
  if (call.options->stream) refuse_stream();
  const bool shared = in_shared_memory(call);
  const Prepared& prepared = this->prepared(call, shared);
  host::WaitPolicy policy = job_->policy();
  policy.limit = call.options->timeout.value_or(policy_.limit);

  // Before the call counts: a rank that finds no memory has made no call.
  std::byte* const scratch =
      prepared.scratch_bytes == 0 ? nullptr : board_->scratch(call_ + 1, prepared.scratch_bytes);
  publish(call, prepared, shared, scratch);
  try {
    await_entries(call, policy);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io) end(error);  // the MPI refuses
    throw;
  }
  const Placement placement = agree();
  if (prepared.small) return fold_messages(call, *prepared.small);
  if (call.collective == Collective::barrier) return;
  run_program(call, prepared.program(placement, all_shared()), policy);
}

Choice MpiCommunicator::choice_for(const Request& request, std::size_t bytes,
                                   const CallOptions& options) const {
  const std::string& spec = options.algorithm.empty() ? default_spec_ : options.algorithm;
  if (spec != "auto") return {spec, "named by the caller or the option algorithm"};
  if (board_->one_host())
    return choose(job_->tuning(), {"host", board_->team().cores()}, request, bytes);
  HostsLayout layout{.host_of = {}, .network_bandwidth = board_->team().network_bandwidth()};
  for (int rank = 0; rank < size(); ++rank)
    layout.host_of.push_back(board_->team().host_of(board_->member(rank)));
  return choose_across_hosts(layout, request, bytes);
}

void MpiCommunicator::abort(const std::string& why) {
  end(Error(ErrorCode::aborted, fmt::format("aborted: {}", why)));
}

void MpiCommunicator::add_message(const Message& message, const CallOptions& options, Over over) {
  if (options.stream) return over(exception_of(refuse_stream));
  messages_.add(message, options.timeout.value_or(policy_.limit), std::move(over));
}

bool MpiCommunicator::work_on_messages(const std::function<bool()>& more) {
  return messages_.work(job_->policy(), more);
}

std::shared_ptr<std::byte> MpiCommunicator::shared_memory(std::size_t bytes) {
  return Arena::allocate(board_->team().arena(), bytes);
}

void MpiCommunicator::check_threads() const {
  const Transport& transport = board_->team().transport();
  if (transport.any_thread()) return;
  throw Error(
      ErrorCode::unsupported,
      fmt::format("asynchronous calls need MPI_THREAD_MULTIPLE, which {} does not give: make "
                  "calls that return when they are over",
                  transport.library()))
      .at_rank(rank());
}

const Prepared& MpiCommunicator::prepared(const Call& call, bool shared) {
  return prepared_calls_[shared ? 1 : 0].get(call, call.options->algorithm, [&] {
    return plans_.prepare(call, job_->most_inline(), shared,
                          [&](const Request& request, std::size_t bytes) {
                            return spec_for(request, bytes, *call.options);
                          });
  });
}

bool MpiCommunicator::in_shared_memory(const Call& call) const {
  if (call.collective == Collective::barrier) return false;
  const Segment& segment = board_->team().arena()->segment();
  const auto is_in = [&](const std::byte* at, Buffer buffer) {
    return segment.contains(at) || bytes_of(call, rank(), size(), buffer) == 0;
  };
  return is_in(call.input, Buffer::input) && is_in(call.output, Buffer::output);
}

// --- enter ---------------------------------------------------------------------------------------

void MpiCommunicator::publish(const Call& call, const Prepared& prepared, bool shared,
                              std::byte* scratch) {
  ++call_;
  if (call_ % host::calls_between_moves == 0)
    for (int stream = 0; stream < most_streams; ++stream)
      board_->progress(rank(), stream).store(host::progress(call_, 0), std::memory_order_release);

  Entry& mine = board_->entry(rank(), call_);
  const std::size_t bytes = prepared.small ? prepared.small->input_bytes() : 0;
  if (std::uint64_t& published = published_[call_ & 1]; published != prepared.digest) {
    mine.set_signature(prepared.signature, prepared.digest, bytes);
    published = prepared.digest;
  }
  if (!prepared.small) {
    const auto place = [&](const std::byte* at) {
      if (at == nullptr) return std::uint64_t{0};
      return shared ? board_->offset_of(at) : reinterpret_cast<std::uint64_t>(at);
    };
    mine.where = {place(call.input), place(call.output),
                  scratch != nullptr ? board_->offset_of(scratch) : 0, shared ? 1u : 0u};
  } else if (bytes > 0) {
    std::memcpy(mine.message, call.input, bytes);
  }
  first_late_ = 0;
  mine.call.store(call_, std::memory_order_release);
}

bool MpiCommunicator::all_entered() {
  const bool moved = board_->one_host() || !board_->leads() || exchange_.move_entries(call_);
  while (first_late_ < others_.size() && entered(others_[first_late_])) ++first_late_;
  return moved && first_late_ == others_.size();
}

void MpiCommunicator::await_entries(const Call& call, const host::WaitPolicy& policy) {
  await([&] { return all_entered(); }, policy, policy.entry_spins,
        [&](bool timed_out) {
          auto late = missing();
          if (late.empty()) {  // what was sent has not left
            if (!timed_out) return;
            for (const auto& ranks : board_->far_hosts()) late.push_back(ranks.front());
          }
          int gone = -1;
          for (const int rank : late)
            if (gone < 0 && watch_.has_gone(rank, call_)) gone = rank;
          if (gone >= 0) {
            // Where one has gone, others may just not have come yet.
            fail(host::missing_ranks({gone}, call.collective, call_, rank(), gone, policy.limit));
          }
          if (timed_out)
            fail(watch_.blame(
                host::missing_ranks(late, call.collective, call_, rank(), -1, policy.limit),
                late.front(), call_, policy.limit));
        });
}

std::vector<int> MpiCommunicator::missing() const {
  std::vector<int> ranks;
  for (const int rank : others_)
    if (!entered(rank)) ranks.push_back(rank);
  return ranks;
}

Placement MpiCommunicator::agree() const {
  const std::uint64_t digest = published_[call_ & 1];
  if (std::all_of(others_.begin(), others_.end(),
                  [&](int peer) { return board_->entry(peer, call_).digest == digest; }))
    return host::placement_of(digest);
  std::vector<host::Signature> signatures;
  std::vector<host::PublishedCall> published;
  for (int peer = 0; peer < size(); ++peer) {
    const Entry& entry = board_->entry(peer, call_);
    signatures.push_back(entry.signature);
    signatures.back().spec = entry.spec.data();
    published.push_back({entry.digest, nullptr});
  }
  for (std::size_t i = 0; i < published.size(); ++i) published[i].signature = &signatures[i];
  return host::agreed_placement(published, rank(), call_);  // none has touched a buffer
}

bool MpiCommunicator::all_shared() const {
  for (int peer = 0; peer < size(); ++peer)
    if (board_->entry(peer, call_).where.shared == 0) return false;
  return true;
}

void MpiCommunicator::fold_messages(const Call& call, const host::SmallMessage& message) {
  message.fold(sources_.data(), call.output, [&](int peer) {
    return peer == rank() ? call.input : board_->entry(peer, call_).message;
  });
}

// --- ops, leave ----------------------------------------------------------------------------------

void MpiCommunicator::run_program(const Call& call, const Bound& bound,
                                  const host::WaitPolicy& policy) {
  // First say so, then look: who fails does it the other way round (give_up).
  auto& busy = board_->block(rank()).busy.call;
  busy.store(call_, std::memory_order_seq_cst);
  if (board_->failure().set.load(std::memory_order_seq_cst)) give_up();
  const auto overdue = [&](bool timed_out) {
    const auto obstacle = runner_.obstacle();
    if (!timed_out || !obstacle) return;
    fail(watch_.blame(
        host::unfinished_op(obstacle->peer, obstacle->op, call.collective,
                            bound.program.compiled->plan.spec(), call_, rank(), policy.limit),
        obstacle->peer, call_, policy.limit));
  };
  try {
    runner_.begin(bound, call_, call.input, call.output);
    while (!runner_.is_over())
      if (!runner_.advance())
        await([&] { return runner_.advance(); }, policy, policy.spins, overdue);
    await([&] { return runner_.leave_obstacle() == nullptr; }, policy, policy.spins, overdue);
  } catch (const Error& error) {
    if (!board_->failure().set.load(std::memory_order_acquire)) fail(error);
    throw;
  }
  busy.store(0, std::memory_order_release);
}

// --- waiting, and failing ------------------------------------------------------------------------

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

void MpiCommunicator::fail(const Error& cause) {
  end(cause);
  give_up();
}

void MpiCommunicator::give_up() {
  // Ranks in the middle of their ops stop at their next wait; who is not among them by now has seen
  // the failure and touches nothing. One that is dead or stopped is not waited for.
  runner_.drop();
  board_->block(rank()).busy.call.store(0, std::memory_order_seq_cst);
  const Stopwatch since;
  for (const int peer : board_->near()) {
    const auto& busy = board_->block(peer).busy.call;
    while (peer != rank() && busy.load(std::memory_order_seq_cst) == call_ &&
           since.elapsed() < longest_retreat && !board_->team().has_died(board_->member(peer)))
      std::this_thread::yield();
  }
  while (!board_->failure().set.load(std::memory_order_acquire)) std::this_thread::yield();
  throw board_->failure().cause().at_rank(rank());
}

// --- split ---------------------------------------------------------------------------------------

namespace {

/// What a rank gives to a split: its choice, then what a communicator is made of.
struct Offer {
  host::SplitChoice choice;
  std::int32_t context = 0;
};

}  // namespace

std::unique_ptr<Communicator::Implementation> MpiCommunicator::split(int color, int key) {
  const CallOptions options{.algorithm = "direct"};
  const auto exchange = [&](const auto& mine) {
    using Value = std::remove_cvref_t<decltype(mine)>;
    std::vector<Value> all(static_cast<std::size_t>(size()));
    const std::size_t elements = sizeof(Value) / sizeof(std::int32_t);
    run({.collective = Collective::all_gather,
         .input = reinterpret_cast<const std::byte*>(&mine),
         .output = reinterpret_cast<std::byte*>(all.data()),
         .blocks = std::span(&elements, 1),
         .type = ElementType::int32,
         .op = host::split_mark,
         .options = &options});
    return all;
  };
  Transport& transport = board_->team().transport();
  const auto offers = exchange(Offer{{color, key}, transport.next_context()});
  std::vector<host::SplitChoice> choices;
  std::vector<int> colors;
  int context = 0;
  for (const Offer& offer : offers) {
    choices.push_back(offer.choice);
    context = std::max(context, offer.context);
    if (offer.choice.color != Communicator::no_color) colors.push_back(offer.choice.color);
  }
  std::sort(colors.begin(), colors.end());
  colors.erase(std::unique(colors.begin(), colors.end()), colors.end());
  transport.use_contexts_below(context + static_cast<int>(colors.size()));

  const auto ranks = host::ranks_of_color(choices, color);
  std::shared_ptr<Board> board;
  BlockOffsets offsets;
  if (color != Communicator::no_color) {
    std::vector<int> members;
    for (const int rank : ranks) members.push_back(board_->member(rank));
    board = std::make_shared<Board>(board_->shared_team(), std::move(members));
    offsets = board->offsets();
  }
  const auto all_offsets = exchange(offsets);
  if (!board) return nullptr;
  std::vector<BlockOffsets> of_members;
  for (const int rank : ranks) of_members.push_back(all_offsets[static_cast<std::size_t>(rank)]);
  board->connect(of_members);
  return std::make_unique<MpiCommunicator>(
      job_, std::move(board),
      context + static_cast<int>(std::find(colors.begin(), colors.end(), color) - colors.begin()));
}

}  // namespace ringside::mpi
