// SPDX-License-Identifier: MIT
/// What a terminal would obey, in what others wrote: names in machines, lines of logs.
#pragma once

#include <string>
#include <string_view>

namespace ringside::cli {

/// Whether there are control characters other than line ends and tabs (those of eight bits, in
/// UTF-8, too), or marks that turn the direction of writing.
[[nodiscard]] bool has_controls(std::string_view text);

/// The text with these as \u001b, which is what JSON's strings have for them.
[[nodiscard]] std::string visible(std::string_view text);

}  // namespace ringside::cli
