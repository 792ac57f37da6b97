// SPDX-License-Identifier: MIT
#include "ringside/tools/report/colours.hpp"

#include <fmt/format.h>

#include "ringside/base/text.hpp"
#include "ringside/tools/report/assets.hpp"

namespace ringside::report {
namespace {

/// `function(a,b)` becomes its argument of that number (0 or 1). Colours have no parentheses here.
std::string with_argument(std::string_view style, std::string_view function, std::size_t which) {
  std::string text;
  for (std::size_t at = 0; at < style.size();) {
    const std::size_t begin = style.find(function, at);
    text += style.substr(at, begin - at);
    if (begin == std::string_view::npos) break;
    const std::size_t first = begin + function.size();
    const std::size_t comma = style.find(',', first), end = style.find(')', first);
    text += trim(which == 0 ? style.substr(first, comma - first)
                            : style.substr(comma + 1, end - comma - 1));
    at = end + 1;
  }
  return text;
}

}  // namespace

std::string plain_colours(std::string_view style) {
  return with_argument(with_argument(style, "var(", 1), "light-dark(", 0);
}

std::string with_theme(std::string_view style) {
  const std::string_view theme = theme_style();
  return fmt::format("{}@supports (color: light-dark(#fff, #000)) {{\n{}}}\n{}",
                     plain_colours(theme), theme, style);
}

}  // namespace ringside::report
