// SPDX-License-Identifier: MIT
/// Facts as JSON. For source files only: this header needs nlohmann-json and is not installed.
#pragma once

#include <span>

#include "ringside/base/json_write.hpp"
#include "ringside/topology/readers/reading.hpp"

namespace ringside {

/// What one file was found to hold: `kind` and the facts of its main reading, with those of the
/// others beside them (`p2p`, `nvlink_status`, `more_matrices`). Needs at least one reading.
[[nodiscard]] Json facts_json(std::span<const Reading> readings);

}  // namespace ringside
