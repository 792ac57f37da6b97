// SPDX-License-Identifier: MIT
/// Whether all ranks are busy: what each does over some steps in which nobody's share changes.
#pragma once

#include <cstdint>
#include <vector>

#include "ringside/base/clock.hpp"
#include "ringside/collectives/communicator.hpp"
#include "ringside/trainer/step_times.hpp"

namespace ringside::trainer {

/// One rank's part.
struct RankBalance {
  std::int64_t samples = 0;  ///< that it computed
  double computing = 0;      ///< seconds of forward and backward passes and updates
  double waiting = 0;        ///< seconds in collectives, which slower ranks make longer

  [[nodiscard]] double seconds_of_a_sample() const {
    return samples > 0 ? computing / static_cast<double>(samples) : 0;
  }
};

struct Balance {
  std::vector<std::int64_t> shares;  ///< one a rank; empty: equal ones
  std::int64_t steps = 0, samples = 0;
  double seconds = 0;  ///< of the slowest rank
  std::vector<RankBalance> ranks;

  [[nodiscard]] double samples_per_second() const {
    return seconds > 0 ? static_cast<double>(samples) / seconds : 0;
  }
};

/// Counts on one rank; `gather` brings together what all have counted.
class BalanceCount {
 public:
  /// From these times of the rank on.
  void begin(std::vector<std::int64_t> shares, const StepTimes& times);
  /// A step of so many samples, of which this rank computed `own`.
  void add_step(std::size_t samples, std::size_t own);
  /// Up to these times. What has no steps is dropped.
  void end(const StepTimes& times);
  /// What has ended since the last call, one after another; all ranks call it, and get the same.
  [[nodiscard]] std::vector<Balance> gather(Communicator& comm);
  void clear() { ended_.clear(); }

 private:
  struct Own {
    std::vector<std::int64_t> shares;
    std::int64_t steps = 0, samples = 0;
    RankBalance rank;
    double seconds = 0;
  };
  Own now_;
  Stopwatch watch_;
  std::vector<Own> ended_;
};

/// How fast a rank computes, from its own steps: the median, as single steps are disturbed.
class SpeedOfSamples {
 public:
  /// A step's forward and backward passes; without samples it says nothing.
  void add_step(double seconds, std::size_t samples);
  /// Whole nanoseconds of a sample. Throws Error(invalid_argument) if no step had samples.
  [[nodiscard]] std::int64_t nanoseconds() const;

 private:
  std::vector<double> seconds_of_a_sample_;
};

}  // namespace ringside::trainer
