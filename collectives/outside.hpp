// SPDX-License-Identifier: MIT
/// Algorithms that are not ours, registered by the program or by a plug-in: what executors must
/// know of them, as they may throw anything, write without end, or never answer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "ringside/collectives/plan.hpp"
#include "ringside/collectives/request.hpp"

namespace ringside {

/// The most locations of such an algorithm's plan that is to be run: 64 MB of them, ten times as
/// many as a ring of the most ranks that are proven has.
inline constexpr std::size_t most_run_locations = std::size_t{1} << 22;

/// The first algorithm in a spec string (the one that it names, or one in its parameters) that is
/// not one of ours, as messages call it: `star (plug-in "./star.so")`; nothing if all are.
[[nodiscard]] std::optional<std::string> outside_algorithm_in(std::string_view spec);

/// As make_plan (algorithm.hpp), but throws Error(bad_input) where there are more than
/// most_run_locations, so that it comes to an end where the algorithm does not.
[[nodiscard]] Plan make_bounded_plan(std::string_view spec, const Request& request);

}  // namespace ringside
