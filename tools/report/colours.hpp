// SPDX-License-Identifier: MIT
/// Colours that follow the page's theme, and what stands for them where nothing knows of themes.
#pragma once

#include <string>
#include <string_view>

namespace ringside::report {

/// The style with the colours of light pages in place of what only browsers know, and newer ones
/// partly: `var(--ink,#1d2733)` becomes #1d2733, `light-dark(#fff, #14191f)` #fff.
[[nodiscard]] std::string plain_colours(std::string_view style);

/// The style with the page's colours before it, light and dark; browsers without light-dark() (made
/// before 2024) show the light ones.
[[nodiscard]] std::string with_theme(std::string_view style);

}  // namespace ringside::report
