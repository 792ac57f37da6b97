// SPDX-License-Identifier: MIT
/// What the commands write.
#pragma once

#include <string_view>

namespace ringside::cli {

/// Writes to standard output. Throws Error(io) when it takes no more; main() knows a reader that
/// left (`ringside ... | head`) from a disk that is full.
void print(std::string_view text);
/// Hands over what was printed. Throws as `print` does.
void flush();

/// A line on standard error for every RINGSIDE_ variable of the environment that sets no option.
void warn_of_unknown_variables();

}  // namespace ringside::cli
