// SPDX-License-Identifier: MIT
/// From evidence to what is wrong with a machine.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ringside/topology/diagnose/rule.hpp"

namespace ringside {

/// An input that is missing, and what it would decide.
struct WantedInput {
  Input input = Input::topology_matrix;
  std::vector<std::string> decides;  ///< ids of findings that it would make certain or rule out
  std::vector<std::string> opens;    ///< ids of rules that cannot be judged without it
};

struct Diagnoses {
  /// Worst first: by harm, then certainty, then slowdown. Those that others explain are left out.
  std::vector<Diagnosis> found;
  std::vector<WantedInput> wanted;  ///< what would help most, first
};

/// Applies the rules. The same for the same evidence.
[[nodiscard]] Diagnoses diagnose(const Evidence& evidence);
/// The same with other rules.
[[nodiscard]] Diagnoses diagnose(const Evidence& evidence, std::span<const Rule> rules);

/// Whether something is wrong for sure or nearly.
[[nodiscard]] bool has_findings(const Diagnoses& diagnoses);

}  // namespace ringside
