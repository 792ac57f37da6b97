// SPDX-License-Identifier: MIT
/// A rule: what it looks at, and a pure function from evidence to what it finds.
#pragma once

#include <string_view>
#include <vector>

#include "ringside/topology/diagnose/diagnosis.hpp"
#include "ringside/topology/diagnose/evidence.hpp"

namespace ringside {

struct Rule {
  std::string_view id;     ///< "D01"
  std::string_view title;  ///< one line: what is wrong when it fires
  std::string_view source;
  std::vector<Input> inputs;  ///< that it looks at
  /// Findings without id, title and source, which are the rule's. Null: no text can decide it.
  std::vector<Diagnosis> (*find)(const Evidence& evidence) = nullptr;
  std::string_view undecidable = {};  ///< why not, where `find` is null
};

/// All of them, in the order of their ids.
[[nodiscard]] const std::vector<Rule>& rules();

/// What a rule finds, with its id, title and source.
[[nodiscard]] std::vector<Diagnosis> apply(const Rule& rule, const Evidence& evidence);

}  // namespace ringside
