// SPDX-License-Identifier: MIT
/// An explanation in words that users understand, or as JSON. Pure: facts (explanation.hpp) to
/// text.
#pragma once

#include <string>

#include "ringside/collectives/plan.hpp"
#include "ringside/collectives/selector/choice.hpp"
#include "ringside/collectives/selector/explanation.hpp"

namespace ringside {

/// A page: time, what the links carry, where the time goes, what no plan can beat, and how the
/// plans compare where there are several. Every number says whether it is simulated or a bound.
[[nodiscard]] std::string explanation_text(const CallExplanation& facts);
[[nodiscard]] std::string explanation_json(const CallExplanation& facts);

/// What runs, why it was chosen, and what it moves, where nothing is known of the machine. `bytes`:
/// of all blocks together.
[[nodiscard]] std::string choice_text(const Choice& choice, const Plan& plan, std::uint64_t bytes);

/// How many times the message: "3 S"; "2 (n - 1)/n S = 1.5 S", "(n - 1)/n S = 0.75 S" where it is
/// as much as each link carries in a ring.
[[nodiscard]] std::string times_message(double times, int ranks);

}  // namespace ringside
