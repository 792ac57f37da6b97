// SPDX-License-Identifier: MIT
#include "ringside/collectives/external/nccl/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "ringside/base/text.hpp"
#include "ringside/collectives/executors/cuda/waiting.hpp"
#include "ringside/collectives/executors/host/message_errors.hpp"
#include "ringside/collectives/executors/host/signature.hpp"
#include "ringside/collectives/executors/host/waiting.hpp"

namespace ringside::nccl {
namespace {

// Kinds of calls that are remembered; forgetting them costs a meeting each.
constexpr std::size_t most_kinds = 4096;

/// What the ranks compare when they meet. There is no plan.
host::SignedCall signed_call(const Call& call, int ranks) {
  auto signature = host::Signature::of(call, ranks, 0, "nccl");
  signature.in_stream = call.options->stream.has_value();
  return host::signed_by(signature);
}

void refuse_algorithms(const CallOptions& options) {
  if (!options.algorithm.empty())
    throw Error(ErrorCode::unsupported,
                fmt::format("NCCL runs algorithms of its own: {} cannot be asked for",
                            quote(options.algorithm)));
}

Stream stream_of(const CallOptions& options, Stream otherwise) {
  return options.stream ? static_cast<Stream>(*options.stream) : otherwise;
}

}  // namespace

NcclCommunicator::NcclCommunicator(std::unique_ptr<host::HostCommunicator> meeting,
                                   std::shared_ptr<Parts> parts, std::shared_ptr<RankComm> comm)
    : meeting_(std::move(meeting)),
      parts_(std::move(parts)),
      comm_(std::move(comm)),
      stream_(cuda::Stream::on(comm_->device())),
      word_(cuda::DeviceMemory::on(comm_->device(), sizeof(std::int32_t))) {
  const int device = comm_->device();
  cuda::check(cudaMemsetAsync(word_.data(), 0, word_.size(), stream_.get()), "cudaMemsetAsync",
              device);
  cuda::check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize", device);
}

NcclCommunicator::~NcclCommunicator() {
  if (failure().flag().load(std::memory_order_acquire)) comm_->abort();
}

Result NcclCommunicator::settled(Comm comm, const host::WaitPolicy& policy) const {
  Result state = Result::in_progress, asked = Result::success;
  const auto ended = [&] {
    asked = library().call().comm_get_async_error(comm, &state);
    return asked != Result::success || state != Result::in_progress;
  };
  const auto result = host::wait_until(ended, policy, failure().flag());
  if (result == host::WaitResult::failed) failure().throw_cause(rank());
  if (result == host::WaitResult::timed_out)
    throw Error(ErrorCode::timeout, fmt::format("NCCL has not begun a call of rank {} after {}",
                                                rank(), format_duration(policy.limit)));
  return asked != Result::success ? asked : state;
}

Target NcclCommunicator::target(Stream stream, const host::WaitPolicy& policy) const {
  const auto settle = [this, &policy] { return settled(comm_->get(), policy); };
  return {*comm_, rank(), size(), stream, word_.data(), settle};
}

bool NcclCommunicator::meets(const Call& call, std::uint64_t digest) {
  if (!call.options->stream) return true;
  // Without the placement, in which ranks may differ: all must come to the same answer.
  if (met_.size() == most_kinds) met_.clear();
  return met_.insert(digest & ~host::placement_bits).second;
}

void NcclCommunicator::run(const Call& call) {
  failure().throw_if_set(rank());
  refuse_algorithms(*call.options);
  require(library(), call, rank(), size());
  const cuda::DeviceGuard guard(comm_->device());
  const host::SignedCall signed_call = nccl::signed_call(call, size());
  if (meets(call, signed_call.digest)) meeting_->meet(call, signed_call, nullptr);

  const host::WaitPolicy policy = meeting_->policy_for(*call.options);
  guarded([&] {
    enqueue(call, target(stream_of(*call.options, stream_.get()), policy));
    if (!call.options->stream)
      await_stream(std::string(to_string(call.collective)), policy);
    else
      check_async();
  });
}

Choice NcclCommunicator::choice_for(const Request&, std::size_t, const CallOptions&) const {
  throw Error(ErrorCode::unsupported, "NCCL chooses its algorithms itself and does not tell");
}

void NcclCommunicator::finish() {
  if (failure().flag().load(std::memory_order_acquire)) return;
  guarded([&] { check_async(); });
}

std::unique_ptr<Communicator::Implementation> NcclCommunicator::split(int color, int key) {
  if (library().call().comm_split == nullptr)
    throw Error(
        ErrorCode::unsupported,
        fmt::format("{} cannot split a communicator: that came with 2.18", library().name()));
  failure().throw_if_set(rank());
  const cuda::DeviceGuard guard(comm_->device());
  // The ranks agree on the host first, so all come to NCCL's split. (No message goes by the host.)
  auto part_meeting = meeting_->split_ranks(color, key, {});
  const std::uint64_t number = ++splits_;

  std::shared_ptr<RankComm> part;
  Comm comm = nullptr;  // NCCL may still write it when the waiting has been given up
  guarded([&] {
    const auto policy = meeting_->policy_for({});
    Result result = library().call().comm_split(
        comm_->get(), color == Communicator::no_color ? split_no_color : color, key, &comm,
        nullptr);
    if (result == Result::in_progress) result = settled(comm_->get(), policy);
    if (comm != nullptr)
      part = std::make_shared<RankComm>(comm_->shared_library(), comm, comm_->device());
    if (result == Result::success && part) result = settled(comm, policy);
    if (result == Result::success && !part && part_meeting) result = Result::internal_error;
    if (result == Result::success) return;
    const Error error = error_of(library(), result, "ncclCommSplit", comm_->get());
    if (part) part->abort();
    throw error;
  });
  if (!part_meeting) return nullptr;
  auto parts = parts_->part(number, color, part_meeting->size());
  return std::make_unique<NcclCommunicator>(std::move(part_meeting), std::move(parts),
                                            std::move(part));
}

// --- waiting and failing -------------------------------------------------------------------------

template <class Work>
void NcclCommunicator::guarded(Work&& work) {
  try {
    work();
  } catch (Error& error) {
    failure().set(error.at_rank(rank()));
    give_up();
  }
}

void NcclCommunicator::give_up() {
  comm_->abort();
  failure().throw_cause(rank());
}

void NcclCommunicator::check_async() const {
  Result state = Result::success;
  const Result asked = library().call().comm_get_async_error(comm_->get(), &state);
  if (asked != Result::success)
    throw error_of(library(), asked, "ncclCommGetAsyncError", comm_->get());
  if (state != Result::success && state != Result::in_progress)
    throw error_of(library(), state, "error while a call ran", comm_->get());
}

void NcclCommunicator::await_stream(const std::string& what, const host::WaitPolicy& policy) {
  const auto [result, error] =
      cuda::await_complete(stream_.get(), policy, failure().flag(), [this] { check_async(); });
  if (result == host::WaitResult::failed) failure().throw_cause(rank());
  if (result == host::WaitResult::timed_out)
    throw Error(ErrorCode::timeout,
                fmt::format("device {} has not finished {} by NCCL after {}", comm_->device(), what,
                            format_duration(policy.limit)));
  cuda::check(error, fmt::format("{} by NCCL", what), comm_->device());
}

// --- messages ------------------------------------------------------------------------------------

void NcclCommunicator::add_message(const Message& message, const CallOptions& options, Over over) {
  if (auto error = exception_of([&] {
        failure().throw_if_set(rank());
        require(library(), message);
      }))
    return over(std::move(error));
  const Seconds limit = meeting_->policy_for(options).limit;
  added_.push_back(std::make_shared<Transfer>(Transfer{message, options, std::move(over), limit}));
}

bool NcclCommunicator::work_on_messages(const std::function<bool()>& more) {
  parts_->matching().offer(rank(), added_);
  waiting_.insert(waiting_.end(), added_.begin(), added_.end());
  added_.clear();

  const auto& failed = failure().flag();
  Matching& matching = parts_->matching();
  while (!waiting_.empty()) {
    host::WaitPolicy policy = meeting_->policy_for({});
    policy.limit = Seconds{std::numeric_limits<double>::infinity()};
    for (const auto& end : waiting_)
      policy.limit = std::min(policy.limit, end->limit - end->since.elapsed());
    const auto someone_gone = [&] {
      return std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& end) {
        return meeting_->shared()->gone(end->message.peer);
      });
    };
    (void)host::wait_until([&] { return matching.has_met(rank()) || someone_gone() || more(); },
                           policy, failed);
    if (!failed.load(std::memory_order_acquire)) {
      const bool gone = someone_gone();  // before looking: what it offered, it offered before
      if (matching.has_met(rank()))
        begin_messages();
      else if (gone || policy.limit <= Seconds{0})
        fail_late_messages();
    }
    if (failed.load(std::memory_order_acquire)) give_up_messages();
    if (more()) return false;
  }
  return true;
}

void NcclCommunicator::begin_messages() {
  auto met = parts_->matching().take(rank());
  const auto over = [&](const Matching::End& end, const std::exception_ptr& error) {
    std::erase(waiting_, end);
    end->over(error);
  };
  std::vector<Routed> routed;
  std::vector<Matching::End> begun;
  bool waits = false;
  host::WaitPolicy policy = meeting_->policy_for({});
  for (const auto& end : met) {
    if (end->mismatch) {
      over(end, std::make_exception_ptr(*end->mismatch));
      continue;
    }
    routed.push_back({end->message, stream_of(end->options, stream_.get())});
    begun.push_back(end);
    waits = waits || !end->options.stream;
    policy.limit = begun.size() == 1 ? end->limit : std::max(policy.limit, end->limit);
  }
  if (begun.empty()) return;
  const auto error = exception_of([&] {
    guarded([&] {
      const cuda::DeviceGuard guard(comm_->device());
      enqueue(routed, target(stream_.get(), policy));
      if (waits) await_stream("messages", policy);
    });
  });
  for (const auto& end : begun) over(end, error);
}

/// A message whose peer has gone, or whose time is up, fails the communicator.
void NcclCommunicator::fail_late_messages() {
  for (const auto& end : waiting_) {
    const Message& message = end->message;
    const bool gone = meeting_->shared()->gone(message.peer);
    if (!gone && end->since.elapsed() < end->limit) continue;
    return failure().set(gone ? host::message_without_peer(message, rank())
                              : host::message_overdue(message, rank(), end->limit));
  }
}

void NcclCommunicator::give_up_messages() {
  parts_->matching().withdraw(rank());
  for (const auto& end : std::exchange(waiting_, {}))
    end->over(exception_of([&] { failure().throw_cause(rank()); }));
  comm_->abort();
}

}  // namespace ringside::nccl
