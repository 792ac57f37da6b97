// SPDX-License-Identifier: MIT
/// What would make a predicted training faster, and what its figures say, in words.
#pragma once

#include <string>
#include <vector>

#include "ringside/trainer/predict/prediction.hpp"

namespace ringside::trainer {

/// The same way to train with something changed.
struct WhatIf {
  enum class Change { none, accumulation, narrow_wire, both, split };
  Change change = Change::none;
  std::string what;  ///< "gradients as bfloat16 (--wire-type bfloat16)"
  PredictedRow row;
};

/// So many passes as now are accumulated in a what-if.
inline constexpr std::size_t accumulated_passes = 4;

/// As it is, then what there is to try: accumulation, bfloat16 on the wire, both, and one device's
/// batch shared by all. What is so already is left out.
[[nodiscard]] std::vector<WhatIf> what_ifs(CallTimes& times, const PredictedTraining& training,
                                           const TrainingWay& way);

/// The passes to accumulate so that at most tolerable_share of a step is exposed.
[[nodiscard]] double passes_for_tolerable_share(const PredictedRow& row,
                                                const PredictedTraining& training);

/// Sentences, each a line: what the gradients of `rows`' best take and how much of it is hidden,
/// why that is so, and what the what-ifs of it come to. `rows`: of several ways; those of one rank
/// do not count.
[[nodiscard]] std::vector<std::string> explanation(const PredictedTraining& training,
                                                   const std::vector<PredictedRow>& rows,
                                                   const std::vector<WhatIf>& what_ifs);

/// The row that learns the fastest, the first of several; null without one of several ranks.
[[nodiscard]] const PredictedRow* best_of(const std::vector<PredictedRow>& rows);

/// "0.516 MB", "28 GB": decimal, as bandwidths are.
[[nodiscard]] std::string decimal_bytes(double bytes);
/// "auto" for nothing.
[[nodiscard]] std::string algorithm_name(const TrainingWay& way);

}  // namespace ringside::trainer
