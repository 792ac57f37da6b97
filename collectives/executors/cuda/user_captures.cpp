// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/cuda/user_captures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "ringside/base/keep.hpp"

namespace ringside::cuda {
namespace {

using Memory = std::vector<std::shared_ptr<void>>;

/// What graphs have let go of.
struct LetGo {
  std::mutex mutex;
  std::vector<std::unique_ptr<Memory>> memory;
};

LetGo& let_go() {
  static LetGo& all = never_destroyed<LetGo>();  // graphs may go when the process ends
  return all;
}

/// Called by a thread of the runtime's, which may not call the runtime.
void let_go_of(void* memory) {
  LetGo& all = let_go();
  const std::lock_guard lock(all.mutex);
  all.memory.emplace_back(static_cast<Memory*>(memory));
}

/// The capture that the stream of a rank belongs to, if it is captured.
std::optional<CaptureOfUser> capture_holding(cudaStream_t stream, int rank, int device) {
  const auto refuse = [&](const char* why) {
    throw Error(ErrorCode::invalid_argument, fmt::format("the stream of rank {} {}", rank, why))
        .with_peer(rank);
  };
  auto status = cudaStreamCaptureStatusNone;
  CaptureOfUser capture;
  const DeviceGuard guard(device);  // which the legacy stream goes by
  const cudaError_t error = cudaStreamGetCaptureInfo(stream, &status, &capture.id, &capture.graph);
  if (error == cudaErrorStreamCaptureImplicit) {
    (void)cudaGetLastError();
    refuse("is the legacy stream, which cannot be used while a blocking stream is captured");
  }
  check(error, "cudaStreamGetCaptureInfo", device);
  if (status == cudaStreamCaptureStatusInvalidated)
    refuse("belongs to a capture that was spoiled by an earlier error");
  return status == cudaStreamCaptureStatusNone ? std::nullopt : std::optional(capture);
}

bool is_captured(cudaStream_t stream) {
  auto status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) != cudaSuccess ||
         status != cudaStreamCaptureStatusNone;
}

}  // namespace

std::optional<CaptureOfUser> capture_of(std::span<const RankCall> ranks,
                                        const std::vector<int>& devices) {
  std::optional<CaptureOfUser> capture;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::optional<CaptureOfUser> own;
    if (!ranks[rank].is_idle)
      own = capture_holding(ranks[rank].stream, static_cast<int>(rank), devices[rank]);
    if (rank == 0) capture = own;
    if (own.has_value() != capture.has_value() || (own && own->id != capture->id))
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("the streams of rank 0 and rank {} do not belong to the same capture: "
                      "either all ranks' do, or none is captured",
                      rank))
          .with_peer(static_cast<int>(rank));
  }
  return capture;
}

void UserCaptures::issue(const CaptureOfUser& capture, const Program& program,
                         std::span<const RankCall> ranks, CopyWay way) {
  Kept& kept = kept_for(capture);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (kept.users[rank] == ranks[rank].stream) continue;
    kept.users[rank] = ranks[rank].stream;
    kept.streams.order.replace(kept.streams.number_of_user(static_cast<int>(rank)));
  }
  kept.scratch.reserve(program);
  retain_scratch(kept, capture.graph);
  cuda::issue(program, ranks, kept.streams, kept.scratch, {.copies = way, .captures = true});
}

UserCaptures::Kept& UserCaptures::kept_for(const CaptureOfUser& capture) {
  for (const auto& kept : kept_)
    if (kept->id == capture.id) return *kept;
  const auto is_over = [](const std::unique_ptr<Kept>& kept) {
    const auto streams = kept->streams.made();
    return std::none_of(streams.begin(), streams.end(), is_captured);
  };
  const auto over = std::find_if(kept_.begin(), kept_.end(), is_over);
  auto& kept = over == kept_.end() ? kept_.emplace_back(std::make_unique<Kept>(devices_)) : *over;
  kept->id = capture.id;
  kept->streams.order = StreamOrder();
  kept->scratch = Scratch(devices_);  // the graph of the capture before has that
  kept->users.assign(devices_.size(), nullptr);
  kept->retained.clear();
  return *kept;
}

void UserCaptures::retain_scratch(Kept& kept, cudaGraph_t graph) const {
  auto memory = std::make_unique<Memory>();
  for (auto& each : kept.scratch.memory())
    if (std::find(kept.retained.begin(), kept.retained.end(), each) == kept.retained.end())
      memory->push_back(std::move(each));
  if (memory->empty()) return;
  const Memory added = *memory;
  const int device = devices_.front();
  cudaUserObject_t object = nullptr;
  check(cudaUserObjectCreate(&object, memory.get(), let_go_of, 1, cudaUserObjectNoDestructorSync),
        "cudaUserObjectCreate", device);
  (void)memory.release();  // the object's
  const cudaError_t error = cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove);
  if (error != cudaSuccess) (void)cudaUserObjectRelease(object, 1);
  check(error, "cudaGraphRetainUserObject", device);
  kept.retained.insert(kept.retained.end(), added.begin(), added.end());
}

void free_what_graphs_left() {
  LetGo& all = let_go();
  std::vector<std::unique_ptr<Memory>> memory;
  {
    const std::lock_guard lock(all.mutex);
    memory.swap(all.memory);
  }
}

}  // namespace ringside::cuda
