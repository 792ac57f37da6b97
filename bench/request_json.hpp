// SPDX-License-Identifier: MIT
/// A request as JSON, so that a later run can measure the same.
#pragma once

#include "ringside/base/json.hpp"
#include "ringside/base/json_write.hpp"
#include "ringside/bench/request.hpp"

namespace ringside::bench {

[[nodiscard]] Json request_to_json(const BenchRequest& request);

/// Throws Error(bad_input) for anything that `request_to_json` does not write.
[[nodiscard]] BenchRequest request_from_json(const JsonValue& value);

}  // namespace ringside::bench
