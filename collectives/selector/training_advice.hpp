// SPDX-License-Identifier: MIT
/// What data-parallel training should do about the time that its all-reduce takes. All times but
/// the caller's own step are predicted by the twin.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/collectives/selector/nccl_comparison.hpp"
#include "ringside/collectives/selector/predicted_choice.hpp"
#include "ringside/topology/model/what_if.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {

/// Communication should take no more than this part of a step.
inline constexpr double tolerable_share = 0.1;

/// Gradients of one type, all-reduced by NCCL's ring once in so many steps.
struct GradientCost {
  std::string_view type;  ///< "float32", "bfloat16"
  double bytes = 0;
  double seconds = 0;     ///< of one all-reduce
  bool measured = false;  ///< at the rate that a table states, not as predicted
  double share = 0;       ///< of a step that ends with one and does not hide it
  int accumulation = 1;   ///< the least number of steps to accumulate for at most tolerable_share
};

struct TrainingAdvice {
  PredictedChoice choice;               ///< of our plans for the message
  std::optional<NcclComparison> nccl;   ///< what NCCL would pick
  std::vector<GradientCost> gradients;  ///< where a model and its step are given
};

/// A model with so many parameters, trained with so many seconds of computation in a step.
struct TrainedModel {
  double parameters = 0;
  double step_seconds = 0;
};

/// An all-reduce of a rank's `bytes` by NCCL's ring in the order of the GPUs: seconds.
[[nodiscard]] double nccl_all_reduce_seconds(const MachineDescription& machine, double bytes);

/// In float32 and bfloat16, predicted. Throws as `advise` does.
[[nodiscard]] std::vector<GradientCost> gradient_costs(const MachineDescription& machine,
                                                       const TrainedModel& model);

/// With the times that the rates of NCCL's tables give, where there are any.
[[nodiscard]] std::vector<GradientCost> at_measured_rates(std::vector<GradientCost> costs,
                                                          const TrainedModel& model,
                                                          const std::vector<Reading>& readings,
                                                          int gpus);

/// Throws Error(unsupported, bad_input) where the twin has no figures for the machine.
[[nodiscard]] TrainingAdvice advise(const MachineDescription& description, double bytes,
                                    const std::optional<TrainedModel>& model);

}  // namespace ringside
