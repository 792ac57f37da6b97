// SPDX-License-Identifier: MIT
/// What training did, for people and for programs. Every number is measured.
#pragma once

#include <string>
#include <vector>

#include "ringside/trainer/training.hpp"

namespace ringside::trainer {

/// What is trained, on what, how; lines that begin with "# ".
[[nodiscard]] std::string title(const TrainingSettings& settings, const Dataset& data, int ranks,
                                const EngineFacts& engine);

/// "; shares 3:1; rank 1 slowed: computes 3 x as long", or nothing: what is not the same for all
/// ranks.
[[nodiscard]] std::string words_of_speeds(const StrategySettings& strategy);

/// Of a strategy, with the stage of sharding where it is not the usual one: "sharded (1)".
[[nodiscard]] std::string name_of(StrategyKind kind, int zero_stage);

/// The head of the table of epochs, and a row of it. Behind loss and accuracies: how fast, and
/// which part of the ranks' time went where.
[[nodiscard]] std::string table_head();
[[nodiscard]] std::string table_row(const EpochReport& report);

/// What holds of the whole run: the best of the last epochs, the digest of the parameters.
[[nodiscard]] std::string summary(const std::vector<EpochReport>& reports, std::uint64_t seed);

/// How many times as much rank 0 has as the mean of the others; 1 for one rank.
struct FirstRankLoad {
  double work = 1;    ///< processor time of the rank's thread: neighbours hardly move it
  double memory = 1;  ///< at the peak
};
[[nodiscard]] FirstRankLoad first_rank_load(const EpochReport& report);

/// A line per rank of the last epoch: how long it worked and waited, how much memory it had; and
/// what rank 0 has more than the others. Empty for one rank.
[[nodiscard]] std::string rank_table(const EpochReport& report);

/// Which rank waits for which, where they are not equally fast or have not equal shares: by the
/// last shares, and before by equal ones, measured or worked out. Empty where there is nothing to
/// tell.
[[nodiscard]] std::string balance_table(const TrainingSettings& settings,
                                        const std::vector<EpochReport>& reports);

/// All of it as JSON.
[[nodiscard]] std::string json_report(const TrainingSettings& settings, const Dataset& data,
                                      int ranks, const EngineFacts& engine,
                                      const std::vector<EpochReport>& reports);

}  // namespace ringside::trainer
