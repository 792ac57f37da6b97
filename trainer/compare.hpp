// SPDX-License-Identifier: MIT
/// How much faster k ranks learn than one, by strategy and algorithm.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ringside/trainer/training.hpp"

namespace ringside::trainer {

/// One way to train: the settings that differ.
struct Contender {
  int ranks = 1;
  StrategySettings strategy;
};

struct Comparison {
  /// The first is what the others are compared with.
  std::vector<Contender> contenders;
  /// [contender][round]
  std::vector<std::vector<EpochReport>> rounds;
  /// [contender][rank]: of one step; no ranks where it cannot be counted.
  std::vector<std::vector<Traffic>> traffic;
};

/// Throws Error(invalid_argument) if the steps of a turn, `settings.steps` with the untimed ones,
/// are none or more than an epoch has.
void check_comparison(const TrainingSettings& settings, const Dataset& data);

/// Lets the contenders take turns, `rounds` times, so that what the machine does to one it does to
/// its neighbours: `settings.steps` steps each, of which the first `settings.untimed_steps` are not
/// timed. What a step moves is counted in a step of its own, before all turns. `going` is told what
/// comes next. Throws what check_comparison and train do.
[[nodiscard]] Comparison compare(
    Engine& engine, const Dataset& data, const TrainingSettings& settings,
    const std::vector<Contender>& contenders, int rounds,
    const std::function<void(std::size_t done, std::size_t of, const std::string& what)>& going);

/// "distributed, ring, 2 ranks".
[[nodiscard]] std::string describe(const Contender& contender);

/// Samples per second, the speedup (median of same-round ratios, and their range), the
/// milliseconds of a step by part, and the bytes that it moves.
[[nodiscard]] std::string comparison_table(const Comparison& comparison);
/// With what was trained, on which data and by what.
[[nodiscard]] std::string comparison_json(const Comparison& comparison,
                                          const TrainingSettings& settings, const Dataset& data,
                                          const EngineFacts& engine);

}  // namespace ringside::trainer
