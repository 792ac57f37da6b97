// SPDX-License-Identifier: MIT
/// A preflight for programs. docs/preflight.md documents every key.
#pragma once

#include <string>

#include "ringside/bench/preflight/report.hpp"

namespace ringside::bench::preflight {

[[nodiscard]] std::string json_of(const Report& report);

}  // namespace ringside::bench::preflight
