// SPDX-License-Identifier: MIT
/// What `ringside diagnose` found, for people and for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ringside/collectives/selector/measured_and_predicted.hpp"
#include "ringside/collectives/selector/mend_prices.hpp"
#include "ringside/collectives/selector/training_advice.hpp"
#include "ringside/topology/diagnose/diagnose.hpp"

namespace ringside::cli {

enum class Verdict {
  healthy,      ///< nothing is wrong, and what was measured of all GPUs is as predicted
  partly,       ///< the same of some GPUs, or all a little slower
  too_fast,     ///< far more was measured than the machine of the inputs can carry
  unmeasured,   ///< nothing is wrong as far as the inputs tell
  unexplained,  ///< what was measured is far below what is predicted, and no rule says why
  findings,
};

struct DiagnosisReport {
  const Evidence* evidence = nullptr;
  Diagnoses diagnoses;
  MendPrices prices;
  std::vector<Compared> compared;  ///< with the machine that it ought to be
  std::string not_compared;        ///< why nothing is
  std::optional<TrainingAdvice> advice;
  std::vector<GradientCost> mended_gradients;  ///< predicted; empty where nothing can be mended
  std::optional<TrainedModel> model;
  std::uint64_t bytes = 0;  ///< of the all-reduce that is priced
  bool verbose = false;

  [[nodiscard]] Verdict verdict() const;
};

[[nodiscard]] std::string diagnosis_text(const DiagnosisReport& report);
[[nodiscard]] std::string diagnosis_json(const DiagnosisReport& report);

/// All rules with what they look at, and those that no text can decide with the reason.
[[nodiscard]] std::string rules_text();
[[nodiscard]] std::string rules_json();

}  // namespace ringside::cli
