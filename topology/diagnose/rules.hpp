// SPDX-License-Identifier: MIT
/// The rules by their subjects, one a file in rules/. They are listed in rules.cpp.
#pragma once

#include "ringside/topology/diagnose/rule.hpp"

namespace ringside {

// D01..D11: peer access that is blocked, slow, hangs or is wrong.
[[nodiscard]] Rule acs_redirect_rule();

}  // namespace ringside
