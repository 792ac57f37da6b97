// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/cuda/communicator.hpp"

#include <fmt/format.h>

#include <limits>

#include "ringside/base/text.hpp"
#include "ringside/collectives/backend.hpp"
#include "ringside/collectives/executors/cuda/waiting.hpp"
#include "ringside/collectives/layout.hpp"
#include "ringside/collectives/selector/choice.hpp"

namespace ringside::cuda {
namespace {

/// Memory that the kernels of a device cannot touch would end the whole context.
void check_buffer(const void* buffer, const char* what, int rank, int device) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, buffer), "cudaPointerGetAttributes", device);
  const auto refuse = [&](const std::string& why) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("the {} of rank {}, which is on device {}, is {}", what, rank, device, why))
        .at_rank(rank);
  };
  if (attributes.type == cudaMemoryTypeUnregistered) refuse("no memory of CUDA");
  if (attributes.type == cudaMemoryTypeDevice && attributes.device != device)
    refuse(fmt::format("memory of device {}", attributes.device));
}

/// A stream that the call cannot be ordered in is refused before anybody is told of the call.
void check_stream(cudaStream_t stream, int rank, int device) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::invalid_argument, fmt::format("the stream of rank {} {}", rank, why))
        .at_rank(rank);
  };
  if (stream == cudaStreamPerThread)
    refuse("is cudaStreamPerThread, another one on the thread that issues the call: make a stream");
  const DeviceGuard guard(device);  // which the default stream goes by
#if CUDART_VERSION >= 12080
  int own = device;
  check(cudaStreamGetDevice(stream, &own), "cudaStreamGetDevice", device);
  if (own != device)
    refuse(fmt::format("is one of device {}, and the rank is on device {}", own, device));
#endif
  auto status = cudaStreamCaptureStatusNone;
  const cudaError_t error = cudaStreamIsCapturing(stream, &status);
  if (error == cudaErrorStreamCaptureImplicit) {
    (void)cudaGetLastError();
    refuse("is the legacy stream, which cannot be used while a blocking stream is captured");
  }
  check(error, "cudaStreamIsCapturing", device);
  if (status == cudaStreamCaptureStatusInvalidated)
    refuse("belongs to a capture that was spoiled by an earlier error");
}

/// How messages of a rank are copied: in a stream of its device. Complete when it returns, but for
/// what its end cuts short.
host::Messages::Copy copier(int device) {
  const auto stream = std::make_shared<const Stream>(Stream::on(device));
  return [stream, device](void* to, const void* from, std::size_t bytes,
                          const host::Messages::CopyEnd& end) {
    if (to == from) return;
    const BesideCaptures beside(device);
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream->get()), "cudaMemcpyAsync",
          device);
    const auto [result, error] = await_complete(stream->get(), end.policy, end.failure.flag());
    if (result == host::WaitResult::failed) end.failure.throw_cause(end.rank);
    if (result == host::WaitResult::timed_out)
      throw Error(ErrorCode::timeout,
                  fmt::format("device {} has not copied a message of {} bytes "
                              "after {}",
                              device, bytes, format_duration(end.policy.limit)));
    check(error, "copy of a message", device);
  };
}

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(const std::vector<int>& devices)
      : devices_(std::make_shared<const Devices>(devices)) {}

  MakeEnd begin(std::shared_ptr<host::Shared> meeting) override {
    const auto shared = std::make_shared<Shared>(std::move(meeting), devices_);
    return [shared](int rank) {
      const int device = shared->device_of(rank);
      check(cudaSetDevice(device), "cudaSetDevice", device);
      return std::make_unique<CudaCommunicator>(
          shared,
          std::make_unique<host::HostCommunicator>(shared->meeting(), rank, 0, copier(device)));
    };
  }

 private:
  std::shared_ptr<const Devices> devices_;
};

}  // namespace

std::unique_ptr<Backend> make_backend(const std::vector<int>& devices) {
  return std::make_unique<CudaBackend>(devices);
}

std::size_t Prepared::bytes() const {
  // A program is made later; about as large as what it is made from.
  std::size_t sum = 0;
  for (const auto& compiled : plans.by_placement)
    if (compiled)
      sum += compiled->plan.size() * static_cast<std::size_t>(compiled->plan.shape().slices) *
             (sizeof(Step) + 2 * sizeof(Run) + 4 * sizeof(Address));
  return sum;
}

CudaCommunicator::CudaCommunicator(std::shared_ptr<Shared> shared,
                                   std::unique_ptr<host::HostCommunicator> meeting)
    : shared_(std::move(shared)), meeting_(std::move(meeting)), prepared_calls_(shared_->ranks()) {}

void CudaCommunicator::run(const Call& call) {
  failure().throw_if_set(rank());
  const BesideCaptures beside(shared_->device_of(rank()));
  check_buffers(call);
  if (call.options->stream)
    check_stream(static_cast<cudaStream_t>(*call.options->stream), rank(),
                 shared_->device_of(rank()));
  Prepared& prepared =
      prepared_calls_.get(call, call.options->algorithm, [&] { return prepare(call); });
  void*& stream = shared_->stream_of(rank());
  stream = call.options->stream.value_or(nullptr);
  std::byte* const given = call.options->stream ? reinterpret_cast<std::byte*>(&stream) : nullptr;
  const std::uint64_t number =
      rank() == 0 ? lead(call, prepared, given) : follow(call, prepared, given);
  if (const auto& refused = shared_->refused(number)) {
    Error error = *refused;
    throw error;
  }
  if (call.collective == Collective::barrier) return;
  if (!call.options->stream || has_checksums()) await_end(call);
  if (has_checksums()) compare_sums(call);
}

Choice CudaCommunicator::choice_for(const Request& request, std::size_t bytes,
                                    const CallOptions& options) const {
  if (auto choice = meeting_->named(options)) return std::move(*choice);
  const host::Job& job = shared_->meeting()->job();
  return shared_->choice_for(job.tuning(), job.cores(), request, bytes);
}

Prepared CudaCommunicator::prepare(const Call& call) {
  Prepared prepared;
  if (call.collective != Collective::barrier)
    meeting_->plan(*call.options, [&](const PlanWait& wait) {
      prepared.plans = choose_plans(
          call, size(),
          [&](const Request& request, std::size_t bytes) {
            return spec_for(request, bytes, *call.options);
          },
          shared_->plans(), wait);
    });
  auto signature = host::Signature::of(call, size(), prepared.plans.hash, prepared.plans.spec);
  signature.summed = has_checksums();
  prepared.signed_call = host::signed_by(signature);
  return prepared;
}

void CudaCommunicator::check_buffers(const Call& call) const {
  if (call.collective == Collective::barrier) return;
  const Request request = call.request(size(), false);
  const int device = shared_->device_of(rank());
  const auto holds = [&](Buffer buffer) {
    return elements_in(call.blocks, blocks_in(request, rank(), buffer)) > 0;
  };
  if (holds(Buffer::input)) check_buffer(call.input, "input", rank(), device);
  if (holds(Buffer::output)) check_buffer(call.output, "output", rank(), device);
}

// --- issuing -------------------------------------------------------------------------------------

std::vector<RankCall> CudaCommunicator::rank_calls() const {
  std::vector<RankCall> calls;
  for (int rank = 0; rank < size(); ++rank) {
    const host::Addresses& addresses = meeting_->addresses_of(rank);
    RankCall& call = calls.emplace_back();
    call.input = addresses.input;
    call.output = addresses.output;
    call.is_idle = addresses.scratch == nullptr;
    if (!call.is_idle)
      call.stream = static_cast<cudaStream_t>(*reinterpret_cast<void* const*>(addresses.scratch));
  }
  return calls;
}

const Program& CudaCommunicator::program(const Call& call, Prepared& prepared,
                                         Placement placement) {
  const std::size_t which = placement == Placement::out_of_place ? 0 : 1;
  auto& program = prepared.programs[which];
  if (!program) {
    const FoldShape values{
        .type = call.type, .op = call.op, .scalar = call.options->scalar, .ranks = size()};
    program = std::make_unique<const Program>(Program::bind(
        prepared.plans.by_placement[which], all_blocks(call, size()), values, shared_->access(),
        has_checksums() ? Program::Checksums::all : Program::Checksums::none));
  }
  if (program->checks) compared_ = program.get();
  return *program;
}

std::uint64_t CudaCommunicator::lead(const Call& call, Prepared& prepared, std::byte* stream) {
  const std::uint64_t before = meeting_->entered_calls();
  std::optional<Error> refused;
  try {
    const auto meeting = meeting_->meet(call, prepared.signed_call, stream);
    meeting_->work_on_call([&] { refused = issue(call, prepared, meeting.placement); });
  } catch (const Error& error) {
    // Others may have seen all enter, and wait for a word about it.
    if (meeting_->entered_calls() == before) throw;
    refused = error;
  }
  shared_->set_issued(meeting_->entered_calls(), std::move(refused));
  return meeting_->entered_calls();
}

std::optional<Error> CudaCommunicator::issue(const Call& call, Prepared& prepared,
                                             Placement placement) {
  std::optional<Error> refused;
  try {
    if (call.collective == Collective::barrier)
      shared_->issuer().barrier(rank_calls());
    else
      shared_->issuer().run(program(call, prepared, placement), rank_calls());
  } catch (const Error& error) {
    refused = error;
  } catch (const std::exception& error) {
    refused = Error(ErrorCode::internal, error.what());
  }
  // Where operations are under way that will never be complete, no later call may come. Who lacks
  // memory lacks it before the first of them.
  const bool is_harmless =
      refused && (refused->code() == ErrorCode::invalid_argument ||
                  refused->code() == ErrorCode::unsupported || refused->code() == ErrorCode::io);
  if (refused && !is_harmless) failure().set(*refused);
  return refused;
}

std::uint64_t CudaCommunicator::follow(const Call& call, const Prepared& prepared,
                                       std::byte* stream) {
  const std::uint64_t number = meeting_->meet(call, prepared.signed_call, stream).number;
  // Without limit, and not interrupted by a failure: rank 0 has this rank's buffers in hand, and
  // comes to an end.
  host::WaitPolicy policy = meeting_->policy_for(*call.options);
  policy.limit = Seconds{std::numeric_limits<double>::infinity()};
  const std::atomic<bool> never{false};
  (void)host::wait_until([&] { return shared_->is_issued(number); }, policy, never);
  return number;
}

// --- the end -------------------------------------------------------------------------------------

void CudaCommunicator::await_end(const Call& call) {
  const host::WaitPolicy policy = meeting_->policy_for(*call.options);
  const auto [result, found] =
      await_complete(shared_->issuer().done(rank()), policy, failure().flag());
  const int device = shared_->device_of(rank());
  if (result == host::WaitResult::failed) failure().throw_cause(rank());
  if (result == host::WaitResult::timed_out)
    fail(Error(ErrorCode::timeout,
               fmt::format("rank {}: device {} has not finished {} after {}", rank(), device,
                           to_string(call.collective), format_duration(policy.limit))));
  if (found != cudaSuccess)
    fail(error_of(found,
                  fmt::format("rank {}: an operation of {}", rank(), to_string(call.collective)),
                  device)
             .with_peer(rank()));
  check_devices();
}

void CudaCommunicator::compare_sums(const Call& call) {
  const host::WaitPolicy policy = meeting_->policy_for(*call.options);
  const std::uint64_t number = meeting_->entered_calls();
  meeting_->meet_again(call, policy);  // all ranks' sums are there
  if (rank() == 0)
    if (auto error = shared_->issuer().sums().difference(*compared_, number)) fail(*error);
  meeting_->meet_again(call, policy);
}

void CudaCommunicator::check_devices() {
  if (const auto failed = shared_->failed_device()) fail(*failed);
}

void CudaCommunicator::finish() {
  if (failure().flag().load(std::memory_order_acquire)) return;  // somebody was told
  const BesideCaptures beside(shared_->device_of(rank()));
  const host::WaitPolicy policy = meeting_->policy_for({});
  for (cudaStream_t stream : shared_->issuer().used_by(rank())) {
    const auto [result, found] = await_complete(stream, policy, failure().flag());
    if (result == host::WaitResult::failed) failure().throw_cause(rank());
    if (result == host::WaitResult::timed_out)
      fail(Error(ErrorCode::timeout,
                 fmt::format("rank {}: device {} has not finished the calls in streams after {}",
                             rank(), shared_->device_of(rank()), format_duration(policy.limit))));
    if (found != cudaSuccess)
      fail(error_of(found, fmt::format("rank {}: an operation of an earlier call", rank()),
                    shared_->device_of(rank())));
  }
  check_devices();
}

void CudaCommunicator::fail(const Error& cause) {
  failure().set(cause);
  failure().throw_cause(rank());
}

// --- messages, split -----------------------------------------------------------------------------

void CudaCommunicator::add_message(const Message& message, const CallOptions& options, Over over) {
  if (auto error = exception_of([&] {
        if (options.stream)
          throw Error(ErrorCode::invalid_argument, "send and recv are not ordered in streams");
        if (message.elements > 0)
          check_buffer(message.data, "buffer", rank(), shared_->device_of(rank()));
      }))
    return over(std::move(error));
  meeting_->add_message(message, options, std::move(over));
}

std::unique_ptr<Communicator::Implementation> CudaCommunicator::split(int color, int key) {
  auto part = meeting_->split_ranks(color, key, copier(shared_->device_of(rank())));
  if (!part) return nullptr;
  auto shared = shared_->child(part->shared());
  return std::make_unique<CudaCommunicator>(std::move(shared), std::move(part));
}

}  // namespace ringside::cuda
