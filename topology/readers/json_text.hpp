// SPDX-License-Identifier: MIT
/// JSON in what people paste: the objects of a text, with prompts and other lines around them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ringside/base/json.hpp"
#include "ringside/topology/readers/text.hpp"

namespace ringside {

struct JsonSection {
  std::string json;
  int first_line = 0, last_line = 0;
};

/// What a document of a measuring program may cost.
constexpr JsonLimits report_limits = {
    .bytes = std::size_t{64} << 20, .depth = 32, .values = 2'000'000};

/// The objects that begin at the start of a line and have the mark (such as `"ringside_bench"`) in
/// them. Throws Error(bad_input) for one that has it and no end.
[[nodiscard]] std::vector<JsonSection> json_sections(const Text& text, std::string_view mark);

}  // namespace ringside
