// SPDX-License-Identifier: MIT
/// How the texts of several commands write figures.
#pragma once

#include <fmt/format.h>

#include <string>

#include "ringside/base/text.hpp"

namespace ringside::cli {

[[nodiscard]] inline std::string time_text(double seconds) {
  return format_duration(Seconds(seconds));
}

/// Three digits, or as many as stand before the point: "1.25", "12.5", "125".
[[nodiscard]] inline std::string figure(double value) {
  return fmt::format("{:.{}f}", value, value < 10 ? 2 : value < 100 ? 1 : 0);
}

}  // namespace ringside::cli
