// SPDX-License-Identifier: MIT
/// What other programs (a launcher) say in the environment. Our own settings are options.
#pragma once

#include <string>

namespace ringside {

/// The text of a variable; empty where there is none. (Beside the options, which alone read the
/// environment.)
[[nodiscard]] std::string environment_text(const char* variable);

}  // namespace ringside
