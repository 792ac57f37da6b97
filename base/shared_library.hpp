// SPDX-License-Identifier: MIT
/// Shared libraries that are opened at run time.
#pragma once

#include <string>

namespace ringside {

/// Why the dlopen of `path` that has just failed on this thread did so, without the path.
[[nodiscard]] std::string last_library_error(const std::string& path);

}  // namespace ringside
