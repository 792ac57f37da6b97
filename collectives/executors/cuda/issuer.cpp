// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/cuda/issuer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "ringside/base/options.hpp"
#include "ringside/collectives/executors/host/waiting.hpp"

namespace ringside::cuda {
namespace {

/// Calls that are remembered, with a graph or on the way to one. A training step makes some tens of
/// different ones; a graph takes some ten KiB per operation.
constexpr std::size_t most_captured = 128;

/// The longest wait in the end for what may never end.
constexpr Seconds patience{10};

std::vector<const void*> addresses_of(std::span<const RankCall> ranks) {
  std::vector<const void*> addresses;
  for (const auto& rank : ranks) {
    addresses.push_back(rank.input);
    addresses.push_back(rank.output);
  }
  return addresses;
}

/// The number of the capture that the stream of a rank belongs to, if it is captured.
std::optional<unsigned long long> capture_holding(cudaStream_t stream, int rank, int device) {
  auto status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  const auto refuse = [&](const char* why) {
    throw Error(ErrorCode::invalid_argument, fmt::format("the stream of rank {} {}", rank, why))
        .with_peer(rank);
  };
  const DeviceGuard guard(device);  // which the legacy stream goes by
  const cudaError_t error = cudaStreamGetCaptureInfo(stream, &status, &id);
  if (error == cudaErrorStreamCaptureImplicit) {
    (void)cudaGetLastError();
    refuse("is the legacy stream, which cannot be used while a blocking stream is captured");
  }
  check(error, "cudaStreamGetCaptureInfo", device);
  if (status == cudaStreamCaptureStatusInvalidated)
    refuse("belongs to a capture that was spoiled by an earlier error");
  return status == cudaStreamCaptureStatusNone ? std::nullopt : std::optional(id);
}

/// False if some stream has not come to its end in time.
bool await_end(const std::vector<cudaStream_t>& streams) {
  host::WaitPolicy policy;
  policy.limit = std::min(patience, option<Seconds>("timeout"));
  const std::atomic<bool> never{false};
  return std::all_of(streams.begin(), streams.end(), [&](cudaStream_t stream) {
    const auto ended = [&] { return cudaStreamQuery(stream) != cudaErrorNotReady; };
    return host::wait_until(ended, policy, never) == host::WaitResult::ready;
  });
}

template <class Things>
void leave_behind(Things& things) {
  new Things(std::move(things));  // never freed: the device may still use it
}

}  // namespace

Issuer::Issuer(const std::vector<int>& devices)
    : devices_(devices),
      setting_{.copies = copy_way()},
      calls_before_graph_(option<std::int64_t>("cuda_graphs")),
      ids_(devices.size(), 0),
      done_(devices.size()),
      streams_(devices),
      scratch_(devices),
      launches_(Stream::on(devices.front())),
      launched_(Event::on(devices.front())),
      graph_streams_(devices),
      graph_scratch_(devices) {
  for (const int device : devices) {
    own_.push_back(Stream::on(device));
    own_done_.push_back(Event::on(device));
    own_entered_.push_back(Event::on(device));
  }
}

Issuer::~Issuer() {
  std::vector<cudaStream_t> all = streams_.made();
  for (const auto& stream : own_) all.push_back(stream.get());
  if (launches_) all.push_back(launches_.get());
  const bool ended = await_end(all);
  (void)cudaGetLastError();
  if (ended) return;
  leave_behind(streams_);
  leave_behind(scratch_);
  leave_behind(graph_streams_);
  leave_behind(graph_scratch_);
  leave_behind(captured_);
  leave_behind(own_);
}

void Issuer::run(const Program& program, std::vector<RankCall> ranks) {
  complete(ranks);
  ++calls_;
  if (capture_of(ranks)) return issue_into_capture(program, ranks);
  if (CapturedCall* call = captured(program, ranks)) return launch(*call, ranks);
  follow_streams(ranks);
  issue(program, ranks, streams_, scratch_, setting_);
  record_done(ranks);
}

void Issuer::barrier(std::vector<RankCall> ranks) {
  complete(ranks);
  (void)capture_of(ranks);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (!ranks[rank].is_idle)
      mark(own_entered_[rank].get(), ranks[rank].stream, static_cast<int>(rank));
  for (const auto& waiting : ranks)
    for (std::size_t other = 0; other < ranks.size(); ++other)
      if (!ranks[other].is_idle && ranks[other].stream != waiting.stream)
        check(cudaStreamWaitEvent(waiting.stream, own_entered_[other].get(), 0),
              "cudaStreamWaitEvent", devices_[other]);
  record_done(ranks);
}

std::vector<cudaStream_t> Issuer::used_by(int rank) {
  std::vector<cudaStream_t> streams;
  for (const auto stream : streams_.made(rank)) streams.push_back(stream);
  streams.push_back(own_[static_cast<std::size_t>(rank)].get());
  streams.push_back(launches_.get());
  return streams;
}

void Issuer::complete(std::vector<RankCall>& ranks) const {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (ranks[rank].is_idle) ranks[rank].stream = own_[rank].get();
}

void Issuer::follow_streams(std::span<const RankCall> ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    unsigned long long id = 0;  // unlike the handle it is never used again
    check(cudaStreamGetId(ranks[rank].stream, &id), "cudaStreamGetId", devices_[rank]);
    if (ids_[rank] == id) continue;
    ids_[rank] = id;
    streams_.order.replace(streams_.number_of_user(static_cast<int>(rank)));
  }
}

cudaEvent_t Issuer::mark(cudaEvent_t event, cudaStream_t stream, int rank) {
  const int device = devices_[static_cast<std::size_t>(rank)];
  const DeviceGuard guard(device);
  check(cudaEventRecord(event, stream), "cudaEventRecord", device);
  return event;
}

void Issuer::record_done(std::span<const RankCall> ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (ranks[rank].is_idle)
      done_[rank] = mark(own_done_[rank].get(), ranks[rank].stream, static_cast<int>(rank));
}

// --- the caller's captures -----------------------------------------------------------------------

std::optional<unsigned long long> Issuer::capture_of(std::span<const RankCall> ranks) const {
  std::optional<unsigned long long> capture;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::optional<unsigned long long> own =
        ranks[rank].is_idle
            ? std::nullopt
            : capture_holding(ranks[rank].stream, static_cast<int>(rank), devices_[rank]);
    if (rank == 0) capture = own;
    if (own != capture)
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("the streams of rank 0 and rank {} do not belong to the same capture: "
                      "either all ranks' do, or none is captured",
                      rank))
          .with_peer(static_cast<int>(rank));
  }
  return capture;
}

Streams& Issuer::streams_for_capture() {
  for (const auto& known : user_captures_) {
    const auto made = known->made();
    const auto free = [](cudaStream_t stream) {
      auto status = cudaStreamCaptureStatusNone;
      return cudaStreamIsCapturing(stream, &status) == cudaSuccess &&
             status == cudaStreamCaptureStatusNone;
    };
    if (std::all_of(made.begin(), made.end(), free)) return *known;
  }
  return *user_captures_.emplace_back(std::make_unique<Streams>(devices_));
}

void Issuer::issue_into_capture(const Program& program, std::span<const RankCall> ranks) {
  // Of their own: a graph of the caller's may run beside any other call.
  Streams& streams = streams_for_capture();
  Scratch& scratch = *user_scratch_.emplace_back(std::make_unique<Scratch>(devices_));
  streams.order = StreamOrder();
  IssueSetting setting = setting_;
  setting.captures = true;
  issue(program, ranks, streams, scratch, setting);
}

// --- graphs --------------------------------------------------------------------------------------

Issuer::CapturedCall& Issuer::remembered(const Program& program, std::span<const RankCall> ranks) {
  const auto addresses = addresses_of(ranks);
  for (const auto& call : captured_)
    if (call->program == program.id && call->addresses == addresses) return *call;
  if (captured_.size() == most_captured)
    captured_.erase(
        std::min_element(captured_.begin(), captured_.end(),
                         [](const auto& a, const auto& b) { return a->last_used < b->last_used; }));
  auto call = std::make_unique<CapturedCall>();
  call->program = program.id;
  call->addresses = addresses;
  return *captured_.emplace_back(std::move(call));
}

Issuer::CapturedCall* Issuer::captured(const Program& program, std::span<const RankCall> ranks) {
  if (calls_before_graph_ == 0 || program.steps.empty()) return nullptr;
  CapturedCall& call = remembered(program, ranks);
  call.last_used = calls_;
  if (++call.calls < calls_before_graph_) return nullptr;
  if (!call.graph) capture(program, ranks, call);
  return call.graph ? &call : nullptr;
}

void Issuer::capture(const Program& program, std::span<const RankCall> ranks, CapturedCall& call) {
  const int device = devices_.front();
  std::vector<RankCall> on_one(ranks.begin(), ranks.end());
  for (auto& rank : on_one) {
    rank.stream = launches_.get();
    rank.is_idle = false;
  }
  graph_streams_.order = StreamOrder();
  graph_scratch_.reserve(program);  // not while capturing
  const auto captured = record(program, on_one);
  if (!captured) return;
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, captured->get(), 0), "cudaGraphInstantiate", device);
  call.graph.emplace(executable, device);
  call.memory = graph_scratch_.memory();
}

std::optional<Graph> Issuer::record(const Program& program, std::span<const RankCall> ranks) {
  const int device = devices_.front();
  IssueSetting setting = setting_;
  setting.captures = true;
  // Relaxed: a kernel may be loaded at its first launch.
  check(cudaStreamBeginCapture(launches_.get(), cudaStreamCaptureModeRelaxed),
        "cudaStreamBeginCapture", device);
  const auto error =
      exception_of([&] { issue(program, ranks, graph_streams_, graph_scratch_, setting); });
  cudaGraph_t captured = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(launches_.get(), &captured);
  Graph graph(captured, device);
  try {
    if (ended != cudaSuccess) (void)cudaGetLastError();
    if (error) std::rethrow_exception(error);
    check(ended, "cudaStreamEndCapture", device);
  } catch (const Error& spoiled) {
    if (spoiled.code() == ErrorCode::invalid_argument) return std::nullopt;
    throw;
  }
  return graph;
}

void Issuer::launch(const CapturedCall& call, std::span<const RankCall> ranks) {
  const int device = devices_.front();
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].is_idle) continue;
    mark(own_entered_[rank].get(), ranks[rank].stream, static_cast<int>(rank));
    check(cudaStreamWaitEvent(launches_.get(), own_entered_[rank].get(), 0), "cudaStreamWaitEvent",
          device);
  }
  {
    const DeviceGuard guard(device);
    check(cudaGraphLaunch(call.graph->get(), launches_.get()), "cudaGraphLaunch", device);
  }
  mark(launched_.get(), launches_.get(), 0);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].is_idle)
      done_[rank] = launched_.get();
    else
      check(cudaStreamWaitEvent(ranks[rank].stream, launched_.get(), 0), "cudaStreamWaitEvent",
            devices_[rank]);
  }
}

}  // namespace ringside::cuda
