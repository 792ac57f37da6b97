// SPDX-License-Identifier: MIT
/// The streams that ranks come with, or get from us where they bring none, and what goes from them
/// to the streams of a call and back.
#pragma once

#include <span>
#include <vector>

#include "ringside/collectives/executors/cuda/operands.hpp"
#include "ringside/collectives/executors/cuda/runtime.hpp"

namespace ringside::cuda {

/// Used by one thread at a time. All calls throw Error(device).
class RankStreams {
 public:
  /// By rank: its device.
  explicit RankStreams(const std::vector<int>& devices);

  /// A rank without a stream gets its own of ours.
  void complete(std::vector<RankCall>& ranks) const;
  /// The stream, of a device, comes behind what the ranks have put in theirs.
  void let_wait(cudaStream_t stream, int device, std::span<const RankCall> ranks);
  /// The ranks' streams come behind the event.
  void let_follow(std::span<const RankCall> ranks, cudaEvent_t event) const;
  /// Every rank's stream comes behind all ranks' streams.
  void barrier(std::span<const RankCall> ranks);
  /// Notes the end of a call in the streams of the ranks that came without one.
  void record_done(std::span<const RankCall> ranks);

  /// An event behind the last call that a rank came to without a stream.
  [[nodiscard]] cudaEvent_t done(int rank) const {
    return done_[static_cast<std::size_t>(rank)].get();
  }
  /// Our own stream of a rank.
  [[nodiscard]] cudaStream_t own(int rank) const {
    return own_[static_cast<std::size_t>(rank)].get();
  }

 private:
  void record(cudaEvent_t event, cudaStream_t stream, int device) const;
  void wait(cudaStream_t stream, cudaEvent_t event, int device) const;

  std::vector<int> devices_;
  std::vector<Stream> own_;     // by rank
  std::vector<Event> entered_;  // by rank
  std::vector<Event> done_;     // by rank
};

}  // namespace ringside::cuda
