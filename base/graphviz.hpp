// SPDX-License-Identifier: MIT
/// Words of the DOT language, which Graphviz draws.
#pragma once

#include <string>
#include <string_view>

namespace ringside {

/// The text as a quoted string of DOT: quotes and backslashes are escaped, control characters
/// become spaces.
[[nodiscard]] std::string graphviz_string(std::string_view text);

}  // namespace ringside
