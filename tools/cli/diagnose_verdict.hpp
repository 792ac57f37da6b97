// SPDX-License-Identifier: MIT
/// The answer of a diagnosis in a sentence, and how its sentences are set.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "ringside/tools/cli/diagnose_report.hpp"

namespace ringside::cli {

/// Words on lines that a terminal shows, the first behind `label`, each behind `indent` blanks.
[[nodiscard]] std::string wrapped(std::string_view text, std::string_view label,
                                  std::size_t indent);

[[nodiscard]] std::string verdict_text(const DiagnosisReport& report);
/// For programs.
[[nodiscard]] std::string_view word_of(Verdict verdict);

}  // namespace ringside::cli
