// SPDX-License-Identifier: MIT
/// A plan's animation as a page: with play, pause, steps, a slider and the keyboard.
#pragma once

#include <string>

#include "ringside/tools/report/plan_drawing.hpp"

namespace ringside::report {

/// One HTML file that needs nothing else, and no network.
[[nodiscard]] std::string plan_page(const Story& story, const Drawing& drawing);

}  // namespace ringside::report
