// SPDX-License-Identifier: MIT
/// What came of an epoch: of each rank, and of all together.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ringside/collectives/communicator.hpp"
#include "ringside/trainer/balance.hpp"
#include "ringside/trainer/counted.hpp"
#include "ringside/trainer/engine.hpp"
#include "ringside/trainer/evaluation.hpp"
#include "ringside/trainer/sha256.hpp"
#include "ringside/trainer/step_times.hpp"
#include "ringside/trainer/strategies/strategy.hpp"

namespace ringside::trainer {

/// One rank within an epoch.
struct RankReport {
  StepTimes times;
  /// Of the rank's own thread, which computes and makes the calls that it waits for.
  double processor_seconds = 0;
  std::uint64_t peak_bytes = 0;  ///< of its replica and batches, since the beginning
  MemoryUse memory = {};         ///< part of it
  Traffic traffic = {};          ///< of the strategy's steps, if it was to be counted
};

struct EpochReport {
  int epoch = 0;  ///< from 1 on
  std::int64_t steps = 0, samples = 0;
  double seconds = 0;            ///< of the slowest rank's steps, evaluation not included
  double processor_seconds = 0;  ///< of all threads in that time
  double rate = 0;               ///< learning rate of its last step
  Score training;                ///< while learning: of parameters that changed meanwhile
  std::optional<Score> test;
  std::vector<RankReport> ranks;
  std::vector<Balance> balance;  ///< for every set of shares that it had, one after another
  Digest parameters{};           ///< SHA-256, the same on all ranks

  [[nodiscard]] double samples_per_second() const {
    return seconds > 0 ? static_cast<double>(samples) / seconds : 0;
  }
};

/// What a rank knows of an epoch that it has finished.
struct RankResult {
  RankReport report;
  Loss loss;           ///< of the samples that it computed
  double seconds = 0;  ///< that its steps took
};

/// Fills in what follows from the results of all ranks: `ranks`, `training` (`samples` must be set)
/// and `seconds`. All ranks call it, and get the same.
void gather(EpochReport& report, const RankResult& own, Communicator& comm);

}  // namespace ringside::trainer
