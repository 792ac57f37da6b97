// SPDX-License-Identifier: MIT
/// What NCCL would pick for a call, by its own model, and why that differs from the choice here.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "ringside/collectives/selector/predicted_choice.hpp"

namespace ringside {

struct NcclComparison {
  std::string pick;  ///< "Ring/Simple: 210 us by NCCL's own model"
  /// What that takes as NCCL runs it, several rings at once where the links allow: simulated, of 1
  /// MiB and more.
  std::optional<double> seconds;
  /// One line: how that compares with the choice, and the like of it among our plans, or what it
  /// has that we have not.
  std::string difference;
};

/// Nothing where NCCL has no choice (it makes gather and all_to_all of sends), where ranks are not
/// the machine's GPUs in their order, or where NCCL would find no rings.
[[nodiscard]] std::optional<NcclComparison> compare_with_nccl(const Machine& machine,
                                                              std::span<const int> gpus,
                                                              const Question& question,
                                                              const PredictedChoice& choice);

}  // namespace ringside
