// SPDX-License-Identifier: MIT
/// Calls in streams that the caller captures: they become part of the caller's graph, which may run
/// at any time, beside any other call, and outlive the communicator.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ringside/collectives/executors/cuda/issue.hpp"

namespace ringside::cuda {

/// A capture under way.
struct CaptureOfUser {
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;  ///< the caller's
};

/// The capture that all of the ranks' streams belong to, if they are captured. `devices` by rank.
/// Throws Error(invalid_argument) if some are and others are not, or if that capture has been
/// spoiled; Error(device).
[[nodiscard]] std::optional<CaptureOfUser> capture_of(std::span<const RankCall> ranks,
                                                      const std::vector<int>& devices);

/// Used by one thread at a time.
class UserCaptures {
 public:
  /// By rank: its device.
  explicit UserCaptures(std::vector<int> devices) : devices_(std::move(devices)) {}

  /// Puts a call into a capture. Its calls share streams and scratch; the scratch lives as long as
  /// the graph and all that is made of it. Throws Error(device); Error(invalid_argument) if
  /// somebody spoils the capture.
  void issue(const CaptureOfUser& capture, const Program& program, std::span<const RankCall> ranks,
             CopyWay way);

 private:
  /// What the calls of one capture use.
  struct Kept {
    explicit Kept(const std::vector<int>& devices) : streams(devices), scratch(devices) {}
    unsigned long long id = 0;
    Streams streams;
    Scratch scratch;
    std::vector<cudaStream_t> users;              // by rank: the stream that `streams.order` knows
    std::vector<std::shared_ptr<void>> retained;  // by the graph
  };

  Kept& kept_for(const CaptureOfUser& capture);
  void retain_scratch(Kept& kept, cudaGraph_t graph) const;

  std::vector<int> devices_;
  std::vector<std::unique_ptr<Kept>> kept_;
};

/// Frees memory that graphs of callers had kept alive and that is free now: the runtime says so
/// where it must not be called.
void free_what_graphs_left();

}  // namespace ringside::cuda
