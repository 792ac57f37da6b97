// SPDX-License-Identifier: MIT
#include "ringside/collectives/executors/cuda/rank_streams.hpp"

namespace ringside::cuda {

RankStreams::RankStreams(const std::vector<int>& devices) : devices_(devices) {
  for (const int device : devices) {
    own_.push_back(Stream::on(device));
    entered_.push_back(Event::on(device));
    done_.push_back(Event::on(device));
  }
}

void RankStreams::complete(std::vector<RankCall>& ranks) const {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (ranks[rank].is_idle) ranks[rank].stream = own_[rank].get();
}

void RankStreams::let_wait(cudaStream_t stream, int device, std::span<const RankCall> ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].is_idle) continue;
    record(entered_[rank].get(), ranks[rank].stream, devices_[rank]);
    wait(stream, entered_[rank].get(), device);
  }
}

void RankStreams::let_follow(std::span<const RankCall> ranks, cudaEvent_t event) const {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    wait(ranks[rank].stream, event, devices_[rank]);
}

void RankStreams::barrier(std::span<const RankCall> ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (!ranks[rank].is_idle) record(entered_[rank].get(), ranks[rank].stream, devices_[rank]);
  const auto is_same = [&](std::size_t a, std::size_t b) {
    return devices_[a] == devices_[b] && ranks[a].stream == ranks[b].stream;
  };
  for (std::size_t waiting = 0; waiting < ranks.size(); ++waiting)
    for (std::size_t other = 0; other < ranks.size(); ++other)
      if (!ranks[other].is_idle && !is_same(waiting, other))
        wait(ranks[waiting].stream, entered_[other].get(), devices_[waiting]);
}

void RankStreams::record_done(std::span<const RankCall> ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (ranks[rank].is_idle) record(done_[rank].get(), ranks[rank].stream, devices_[rank]);
}

// The legacy stream is that of the current device.

void RankStreams::record(cudaEvent_t event, cudaStream_t stream, int device) const {
  const DeviceGuard guard(device);
  check(cudaEventRecord(event, stream), "cudaEventRecord", device);
}

void RankStreams::wait(cudaStream_t stream, cudaEvent_t event, int device) const {
  const DeviceGuard guard(device);
  check(cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent", device);
}

}  // namespace ringside::cuda
