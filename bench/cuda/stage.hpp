// SPDX-License-Identifier: MIT
/// A stage of GPUs: calls are ordered in a stream of each rank and timed by events there.
#pragma once

#include <memory>

#include "ringside/bench/cuda/memory.hpp"
#include "ringside/bench/stage.hpp"

namespace ringside::bench {

class GpuStage final : public Stage {
 public:
  /// The team runs a World of GPUs, the devices of `memory`. Without `is_timed` times are the
  /// host's clock's, and mean nothing.
  GpuStage(std::shared_ptr<Team> team, const Request& what, std::shared_ptr<GpuMemory> memory,
           std::optional<Seconds> timeout, StageMode mode, bool is_timed);

  ~GpuStage() override { dismiss_team(); }

  /// After the untimed calls and a barrier in the ranks' streams, an event; behind every sample
  /// another. A rank's time is that between its first and its last event. The host waits
  /// where more than two samples are under way: a GPU always has one to run.
  [[nodiscard]] BlockTimes time(const Cell& cell, const Block& block,
                                const CallOptions& options) override;
  [[nodiscard]] Seconds shortest_sample() const override;
  void run(int rank, const CheckedCall& call, const CallOptions& options) override;

 private:
  /// What one rank's events say, in seconds.
  struct RankTimes {
    std::vector<double> samples;  ///< whole ones
    double whole = 0;
    double issue = 0;  ///< of the host, in the calls
  };
  class AgreedSamples;
  class TimedRank;

  [[nodiscard]] Seconds limit() const;

  std::shared_ptr<GpuMemory> memory_;
  bool is_timed_;
};

}  // namespace ringside::bench
