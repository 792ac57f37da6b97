// SPDX-License-Identifier: MIT
/// One paragraph: which algorithm won where, by how much, and why.
#pragma once

#include <string>

#include "ringside/bench/report.hpp"

namespace ringside::bench {

/// The paragraph, wrapped at 100 columns. The "how much" is measured; the "why" is counted from the
/// plans (steps; bytes that all ranks read and write, which is what threads that share one memory
/// pay for), and where the counts do not explain a result it says so.
[[nodiscard]] std::string summary(const Report& report);

}  // namespace ringside::bench
