// SPDX-License-Identifier: MIT
/// What `ringside train --on` prints, from a value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ringside/tools/cli/machine_options.hpp"
#include "ringside/trainer/predict/what_ifs.hpp"

namespace ringside::cli {

/// Seconds of a step with the least and the most that latencies may be.
struct StepRange {
  double least = 0, most = 0;
};

struct TrainOnReport {
  const ChosenMachine* machine = nullptr;
  trainer::PredictedTraining training;
  std::vector<trainer::PredictedRow> rows;  ///< the first is one device
  std::vector<trainer::WhatIf> what_ifs;    ///< of the fastest row
  std::optional<StepRange> range;           ///< of the fastest row, where small calls count
  std::vector<std::string> explanation;     ///< lines
  bool through_host = false;                ///< data between some of the GPUs go that way
};

[[nodiscard]] std::string train_on_text(const TrainOnReport& report);
[[nodiscard]] std::string train_on_json(const TrainOnReport& report);

}  // namespace ringside::cli
