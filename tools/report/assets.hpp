// SPDX-License-Identifier: MIT
/// The page's scripts and styles, compiled in (assets.cpp.in).
#pragma once

#include <string_view>

namespace ringside::report {

/// A script and its SHA-256 in hexadecimal, by which the page allows it.
struct Script {
  std::string_view text, sha256;
};

/// Comes before the other two: see with_theme (colours.hpp).
[[nodiscard]] std::string_view theme_style();
[[nodiscard]] std::string_view page_style();
[[nodiscard]] Script page_script();
/// Chart.js; an empty text where the build had none.
[[nodiscard]] Script chart_library();
[[nodiscard]] std::string_view animation_style();
[[nodiscard]] Script animation_script();

}  // namespace ringside::report
