// SPDX-License-Identifier: MIT
/// Writing JSON. For source files only: this header needs nlohmann-json and is not installed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace ringside {

/// A value under construction; its fields are written in the order in which they were added.
using Json = nlohmann::ordered_json;

/// The text of a value with a final newline; `indent` < 0 puts it on one line. Doubles are written
/// so that they read back exactly, not-finite ones as null; bytes that are no UTF-8 as U+FFFD.
[[nodiscard]] std::string dump_json(const Json& value, int indent = 2);

}  // namespace ringside
