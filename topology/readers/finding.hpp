// SPDX-License-Identifier: MIT
/// A remark about an input: what is odd about it, and where.
#pragma once

#include <string>

namespace ringside {

enum class Severity {
  note,     ///< worth knowing; nothing is wrong
  warning,  ///< something is missing, damaged or odd; the rest was read
};

struct Finding {
  Severity severity = Severity::warning;
  int line = 0;  ///< of the input, from 1; 0 when it is about all of it
  std::string text;

  bool operator==(const Finding&) const = default;
};

}  // namespace ringside
